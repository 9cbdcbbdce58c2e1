#include "unstarve/ops/batch/mixing.h"

#include <cmath>

#include "unstarve/ops/element_bits.h"
#include "unstarve/ops/gamma.h"

namespace unstarve {
namespace {

// As blend(), of 16-bit values by their bits.
template <class FromBits, class ToBits>
void blend_bits(const std::uint8_t* from, float weight, std::size_t count, std::uint8_t* to, FromBits value_of,
                ToBits bits_of) {
  const float rest = 1 - weight;
  const auto* const a = reinterpret_cast<const std::uint16_t*>(from);
  auto* const b = reinterpret_cast<std::uint16_t*>(to);
  for (std::size_t i = 0; i < count; ++i) b[i] = bits_of(weight * value_of(b[i]) + rest * value_of(a[i]));
}

}  // namespace

double draw_beta(double alpha, Random& random) {
  const double a = draw_gamma(alpha, random), b = draw_gamma(alpha, random);
  // Both can underflow for a tiny alpha, whose limit is 0 or 1 by a coin.
  return a + b > 0 ? a / (a + b) : (random.uniform() < 0.5 ? 0.0 : 1.0);
}

void blend(ElementType type, const std::uint8_t* from, float weight, std::size_t count, std::uint8_t* to) {
  const float rest = 1 - weight;
  switch (type) {
    case ElementType::kUint8:
      for (std::size_t i = 0; i < count; ++i)
        to[i] = static_cast<std::uint8_t>(
            std::nearbyint(weight * static_cast<float>(to[i]) + rest * static_cast<float>(from[i])));
      return;
    case ElementType::kFloat32: {
      const auto* const a = reinterpret_cast<const float*>(from);
      auto* const b = reinterpret_cast<float*>(to);
      for (std::size_t i = 0; i < count; ++i) b[i] = weight * b[i] + rest * a[i];
      return;
    }
    case ElementType::kBfloat16: return blend_bits(from, weight, count, to, from_bfloat16, bfloat16_bits);
    case ElementType::kFloat16: return blend_bits(from, weight, count, to, from_float16, float16_bits);
  }
}

}  // namespace unstarve
