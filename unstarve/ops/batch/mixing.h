#pragma once
// The distribution of the weight of mixup and cutmix, and blends of elements of any type. Private to ops.
//
// Threads: one at a time per generator; otherwise pure.

#include <cstddef>
#include <cstdint>

#include "unstarve/core/random.h"
#include "unstarve/ops/store/store.h"

namespace unstarve {

// Beta(alpha, alpha), by two gamma draws. Precondition: alpha > 0.
[[nodiscard]] double draw_beta(double alpha, Random& random);

// to = weight * to + (1 - weight) * from, `count` elements of `type`, computed in float32; 8-bit and 16-bit values
// are rounded to nearest even. Precondition: finite values.
void blend(ElementType type, const std::uint8_t* from, float weight, std::size_t count, std::uint8_t* to);
// The same by a scalar loop, bit-equal, for tests.
void blend_reference(ElementType type, const std::uint8_t* from, float weight, std::size_t count, std::uint8_t* to);

}  // namespace unstarve
