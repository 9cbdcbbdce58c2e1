#pragma once
// The two passes of a resize, vectorised. Private to ops; see resize.h for what they compute.
//
// Preconditions: rows of interleaved RGB; the source's width and height are the inputs of the two filters; a row of the
// source holds at least kResizeMinRowBytes; `out` has 64 writable bytes behind its last row.

#include <cstddef>
#include <cstdint>

#include "unstarve/ops/resize_tables.h"

namespace unstarve {

// Then what a vector reads beyond a row lies within the next one. Taps of weight 0 reach at most half a filter beyond
// the last pixel, and a filter is at most as wide as the row.
inline constexpr std::size_t kResizeMinRowBytes = 64;

void resize_rows(const std::uint8_t* source, std::ptrdiff_t row_stride, Scratch::ResizeTables& tables,
                 std::uint8_t* out);

}  // namespace unstarve
