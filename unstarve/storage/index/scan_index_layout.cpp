#include "unstarve/storage/index/scan_index_layout.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "unstarve/storage/bytes/crc32c.h"
#include "unstarve/storage/bytes/little_endian.h"

namespace unstarve::scan_index_layout {
namespace {

constexpr std::string_view kMagic = "UNSTJPX\n";
constexpr std::uint32_t kVersion = 1;

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

std::string header_of(std::uint64_t records, std::uint64_t key) {
  std::string rest;
  append_little(rest, records);
  append_little(rest, key);
  std::string start(kMagic);
  append_little(start, kVersion);
  const std::uint32_t crc = crc32c(bytes_of(rest), crc32c(bytes_of(start)));
  append_little(start, crc);
  return start + rest;
}

Head head_of(std::span<const std::uint8_t, kHeaderBytes> header) {
  if (std::memcmp(header.data(), kMagic.data(), kMagic.size()) != 0) return Head::kDamaged;
  if (load_little<std::uint32_t>(header.data() + 8) != kVersion) return Head::kOtherVersion;
  const std::string whole = header_of(records_of(header), key_of(header));
  return std::memcmp(header.data(), whole.data(), kHeaderBytes) == 0 ? Head::kWhole : Head::kDamaged;
}

std::uint64_t records_of(std::span<const std::uint8_t, kHeaderBytes> header) {
  return load_little<std::uint64_t>(header.data() + 16);
}

std::uint64_t key_of(std::span<const std::uint8_t, kHeaderBytes> header) {
  return load_little<std::uint64_t>(header.data() + 24);
}

Entry entry_of(std::uint64_t offset, std::span<const std::uint8_t> index) {
  std::string text;
  append_little(text, offset);
  append_little(text, static_cast<std::uint32_t>(index.size()));
  append_little(text, crc32c(index, crc32c(bytes_of(text))));
  Entry entry;
  std::memcpy(entry.data(), text.data(), kEntryBytes);
  return entry;
}

bool is_empty(const std::uint8_t* entry) {
  return std::all_of(entry, entry + kEntryBytes, [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace unstarve::scan_index_layout
