#pragma once
// CRC-32 as in IEEE 802.3, zlib and PNG (polynomial 0x04C11DB7, reflected): the checksum of files that unstarve writes.
//
// Threads: pure function.

#include <cstdint>
#include <span>

namespace unstarve {

// The CRC of data that consist of a part with checksum `crc`, followed by `bytes`.
[[nodiscard]] std::uint32_t crc32(std::span<const std::uint8_t> bytes, std::uint32_t crc = 0) noexcept;

}  // namespace unstarve
