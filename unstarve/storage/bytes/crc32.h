#pragma once
// CRC-32 as in IEEE 802.3, zlib and PNG (polynomial 0x04C11DB7, reflected): the checksum of files that unstarve writes.
//
// Threads: pure function.

#include <cstdint>
#include <span>

namespace unstarve {

// Of `bytes`, appended to data whose result is `crc`.
[[nodiscard]] std::uint32_t crc32(std::span<const std::uint8_t> bytes, std::uint32_t crc = 0) noexcept;

}  // namespace unstarve
