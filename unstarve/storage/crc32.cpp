#include "unstarve/storage/crc32.h"

#include <array>
#include <cstddef>

namespace unstarve {
namespace {

constexpr std::uint32_t kReflectedPolynomial = 0xEDB88320;  // 0x04C11DB7, bit-reversed

// tables[k][b]: the CRC of byte b followed by k zero bytes; eight of them take eight bytes at a step.
constexpr std::array<std::array<std::uint32_t, 256>, 8> make_tables() {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? kReflectedPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t zeros = 1; zeros < 8; ++zeros) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[zeros - 1][byte];
      tables[zeros][byte] = before >> 8 ^ tables[0][before & 255];
    }
  }
  return tables;
}

constexpr auto kTables = make_tables();

}  // namespace

std::uint32_t crc32(std::span<const std::uint8_t> bytes, std::uint32_t crc) noexcept {
  crc = ~crc;
  const std::uint8_t* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, p += 8) {
    crc = kTables[7][(crc & 255) ^ p[0]] ^ kTables[6][(crc >> 8 & 255) ^ p[1]] ^ kTables[5][(crc >> 16 & 255) ^ p[2]] ^
          kTables[4][(crc >> 24) ^ p[3]] ^ kTables[3][p[4]] ^ kTables[2][p[5]] ^ kTables[1][p[6]] ^ kTables[0][p[7]];
  }
  for (; left > 0; --left, ++p) crc = crc >> 8 ^ kTables[0][(crc ^ *p) & 255];
  return ~crc;
}

}  // namespace unstarve
