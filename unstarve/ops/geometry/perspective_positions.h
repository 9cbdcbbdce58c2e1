#pragma once
// perspective_position() (positions.h) for a run of pixels, vectorised. Private to geometry.
//
// Threads: pure. Bit-equal to perspective_position() on every instruction set.

#include <cstddef>

#include "unstarve/ops/geometry/warp.h"

namespace unstarve {

// Of pixels (first + i, row) for i < count.
void perspective_positions(const Mapping& mapping, int first, int row, std::size_t count, Positions& to);

}  // namespace unstarve
