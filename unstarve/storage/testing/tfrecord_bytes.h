#pragma once
// For tests and fuzz targets: builds TFRecord files and Examples, written directly from the format descriptions.

#include <zlib.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/testing/byte_text.h"

namespace unstarve::testing {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes.push_back(static_cast<char>(value | 128));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

// A field of wire type 2.
inline std::string field(std::uint32_t number, std::string_view bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}

inline std::string bytes_feature(std::string_view name, std::string_view value) {
  return field(1, field(1, name) + field(2, field(1, field(1, value))));
}

inline std::string integer_feature(std::string_view name, std::int64_t value) {
  return field(1, field(1, name) + field(2, field(3, field(1, varint(static_cast<std::uint64_t>(value))))));
}

// `features`: concatenated entries.
inline std::string example(std::string_view features) { return field(1, features); }

inline std::string tfrecord(std::string_view data) {
  std::string record;
  append_little(record, static_cast<std::uint64_t>(data.size()));
  append_little(record, mask_crc32c(crc32c(bytes_of(record))));
  record += data;
  append_little(record, mask_crc32c(crc32c(bytes_of(data))));
  return record;
}

// window_bits as in zlib: 15 for zlib, 31 for gzip.
inline std::string deflated(std::string_view bytes, int window_bits, int level = 6) {
  z_stream stream{};
  if (::deflateInit2(&stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  std::string out(::deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (result != Z_STREAM_END) throw std::runtime_error("deflate");
  return out;
}

}  // namespace unstarve::testing
