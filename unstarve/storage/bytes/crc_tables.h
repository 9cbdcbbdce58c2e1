#pragma once
// A 32-bit CRC by table look-ups, eight bytes per step, for any reflected polynomial. Used by crc32.cpp and crc32c.cpp.
//
// Source: "slicing by 8", Kounavis and Berry, "Novel table lookup-based algorithms for high-performance CRC
// generation", IEEE Transactions on Computers 57(11), 2008. Threads: pure functions. Failure: none.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace unstarve {

// [k][b]: the CRC of byte b followed by k zero bytes.
using CrcTables = std::array<std::array<std::uint32_t, 256>, 8>;

[[nodiscard]] constexpr CrcTables make_crc_tables(std::uint32_t reflected_polynomial) {
  CrcTables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? reflected_polynomial : 0);
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

// Of `bytes`, appended to data whose result is `crc` (0 for no data).
[[nodiscard]] inline std::uint32_t crc_by_tables(const CrcTables& tables, std::span<const std::uint8_t> bytes,
                                                 std::uint32_t crc) noexcept {
  crc = ~crc;
  const std::uint8_t* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, p += 8) {
    crc = tables[7][(crc & 255) ^ p[0]] ^ tables[6][(crc >> 8 & 255) ^ p[1]] ^ tables[5][(crc >> 16 & 255) ^ p[2]] ^
          tables[4][(crc >> 24) ^ p[3]] ^ tables[3][p[4]] ^ tables[2][p[5]] ^ tables[1][p[6]] ^ tables[0][p[7]];
  }
  for (; left > 0; --left, ++p) crc = crc >> 8 ^ tables[0][(crc ^ *p) & 255];
  return ~crc;
}

}  // namespace unstarve
