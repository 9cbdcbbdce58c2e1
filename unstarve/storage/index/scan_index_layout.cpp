#include "unstarve/storage/index/scan_index_layout.h"

#include <cstring>
#include <string_view>

#include "unstarve/storage/crc32c.h"
#include "unstarve/storage/little_endian.h"

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

Entry entry_of(std::uint64_t offset, std::span<const std::uint8_t> index) {
  std::string text;
  append_little(text, offset);
  append_little(text, static_cast<std::uint32_t>(index.size()));
  append_little(text, crc32c(index, crc32c(bytes_of(text))));
  Entry entry;
  std::memcpy(entry.data(), text.data(), kEntryBytes);
  return entry;
}

}  // namespace unstarve::scan_index_layout
