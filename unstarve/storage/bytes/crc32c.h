#pragma once
// CRC-32C (Castagnoli, polynomial 0x1EDC6F41, reflected), and the masked form that TFRecord stores.
//
// Uses the processor's CRC instruction in three interleaved lanes, joined by a carry-less product, where there is one
// (x86 with SSE4.2 and PCLMULQDQ, asked at run time); tables elsewhere. Both give the same.
//
// Threads: pure functions. Cost: with the instruction 8 bytes per cycle, which is faster than memory delivers them.

#include <cstdint>
#include <span>

namespace unstarve {

// Of `bytes`, or of what came before (`crc` is its result) and then `bytes`.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::uint8_t> bytes, std::uint32_t crc = 0) noexcept;

// The same by tables: the reference, and what machines without the instruction use.
[[nodiscard]] std::uint32_t crc32c_scalar(std::span<const std::uint8_t> bytes, std::uint32_t crc = 0) noexcept;

// Whether crc32c() uses the instruction on this machine.
[[nodiscard]] bool has_crc32c_instruction() noexcept;

// TFRecord stores checksums rotated and shifted, since a CRC of bytes that hold their own CRC tells little.
[[nodiscard]] constexpr std::uint32_t mask_crc32c(std::uint32_t crc) noexcept {
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

}  // namespace unstarve
