#pragma once
// Where the pixels of a part of a row come from by a perspective: perspective_place() (places.h) of each, in vectors.
// Private to geometry.
//
// Threads: pure. Bit-equal to perspective_place() on every instruction set.

#include <cstddef>
#include <cstdint>

#include "unstarve/ops/geometry/warp.h"

namespace unstarve {

// Of pixels (first + i, row), i < count.
void perspective_places(const Mapping& mapping, int first, int row, std::size_t count, std::int32_t* x,
                        std::int32_t* y);

}  // namespace unstarve
