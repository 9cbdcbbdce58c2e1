#pragma once
// Lengths multiplied as headers of arrays ask for it: what a file says may be of any size.

#include <cstdint>
#include <limits>

namespace unstarve {

// 2^64 - 1 where the product is more.
[[nodiscard]] constexpr std::uint64_t product(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<std::uint64_t>::max() : result;
}

}  // namespace unstarve
