#include "unstarve/storage/bytes/crc32.h"

#include "unstarve/storage/bytes/crc_tables.h"

namespace unstarve {
namespace {

constexpr CrcTables kCrc32Tables = make_crc_tables(0xEDB88320);  // 0x04C11DB7, bit-reversed

}  // namespace

std::uint32_t crc32(std::span<const std::uint8_t> bytes, std::uint32_t crc) noexcept {
  return crc_by_tables(kCrc32Tables, bytes, crc);
}

}  // namespace unstarve
