#pragma once
// Divides coefficients by quantisation factors through multiplication by reciprocals, which is suited to SIMD.
//
// The forward transform's results are scaled by eight, so the divisor is 8 * factor. For every such divisor d and
// |x| < 2^15, with c, m and s from this table,
//
//   round(|x| / d), halves up  ==  ((|x| + c) * m >> 16) * s >> 16
//
// (Alverson, "Integer division using reciprocals", ARITH 1991; the tests check all values). The sign is restored
// afterwards.
//
// Threads: plain data.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/jpeg/encode/standard_tables.h"

namespace unstarve {

struct Quantiser {
  // In natural order.
  alignas(64) std::array<std::uint16_t, 64> correction{};
  alignas(64) std::array<std::uint16_t, 64> reciprocal{};
  alignas(64) std::array<std::uint16_t, 64> scale{};
};

[[nodiscard]] inline Quantiser make_quantiser(const QuantisationTable& factors) {
  Quantiser result;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const std::uint32_t divisor = 8u * factors[i];
    int bits = 15 + std::bit_width(divisor);
    std::uint32_t reciprocal = (1u << bits) / divisor;
    const std::uint32_t rest = (1u << bits) % divisor;
    std::uint32_t correction = divisor / 2;
    if (rest == 0) {  // a power of two: one bit fewer
      reciprocal /= 2;
      --bits;
    } else if (rest <= divisor / 2) {
      ++correction;
    } else {
      ++reciprocal;
    }
    result.correction[i] = static_cast<std::uint16_t>(correction);
    result.reciprocal[i] = static_cast<std::uint16_t>(reciprocal);
    result.scale[i] = static_cast<std::uint16_t>(1u << (32 - bits));
  }
  return result;
}

}  // namespace unstarve
