#pragma once
// Saturating multiplication of lengths read from a file.

#include <cstdint>
#include <limits>

namespace unstarve {

// Saturates at 2^64 - 1.
[[nodiscard]] constexpr std::uint64_t product(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<std::uint64_t>::max() : result;
}

}  // namespace unstarve
