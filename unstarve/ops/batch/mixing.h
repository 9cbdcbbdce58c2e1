#pragma once
// What mixup and cutmix share: the weight's distribution, and blending runs of elements of any type. Private to ops.
// Threads: pure, but for the generator.

#include <cstddef>
#include <cstdint>

#include "unstarve/core/random.h"
#include "unstarve/ops/store/store.h"

namespace unstarve {

// Beta(alpha, alpha), by two gamma draws. Precondition: alpha > 0.
[[nodiscard]] double draw_beta(double alpha, Random& random);

// to = weight * to + (1 - weight) * from, `count` elements of `type`, computed in float32; 8-bit and 16-bit values
// are rounded to nearest even. Of finite values.
void blend(ElementType type, const std::uint8_t* from, float weight, std::size_t count, std::uint8_t* to);
// The same by the plain loop: bit-equal, for tests.
void blend_reference(ElementType type, const std::uint8_t* from, float weight, std::size_t count, std::uint8_t* to);

}  // namespace unstarve
