#pragma once
// For tests: text to compress, and a compressed stream with its seek points and its output as a ByteSource.

#include <memory>
#include <string>

#include "unstarve/core/random.h"
#include "unstarve/storage/bytes/inflate.h"
#include "unstarve/storage/testing/byte_text.h"
#include "unstarve/storage/testing/memory_bytes.h"

namespace unstarve::testing {

// Half compressible, half not, as a file of photographs and labels.
inline std::string mixed(std::size_t bytes) {
  Random random(11, 0, 0, 0);
  std::string text;
  while (text.size() < bytes) {
    const std::string noise(1, static_cast<char>(random.below(256)));
    text += random.below(2) == 0 ? noise : "the same words again ";
  }
  text.resize(bytes);
  return text;
}

inline std::string read_text(const ByteSource& source, std::uint64_t offset, std::size_t length) {
  std::string out(length, '\0');
  source.read(offset, {reinterpret_cast<std::uint8_t*>(out.data()), length});
  return out;
}

struct IndexedStream {
  std::shared_ptr<const ByteSource> source;
  Compression compression;
  std::string points;
  std::shared_ptr<const ByteSource> output;
};

// One pass in steps of `step` bytes, then random access.
inline IndexedStream index_stream(const std::string& stored, Access access, std::size_t step = 1000) {
  IndexedStream stream{std::make_shared<MemoryBytes>(stored, access), detect_compression(bytes_of(stored)), "",
                       nullptr};
  const auto forward = inflate_forward(*stream.source, stream.compression);
  std::uint64_t offset = 0;
  for (std::size_t got = step; got == step; offset += got) got = forward->at(offset, step).size();
  stream.points = forward->take_points();
  stream.output = open_inflated(stream.source, stream.compression, bytes_of(stream.points));
  return stream;
}

}  // namespace unstarve::testing
