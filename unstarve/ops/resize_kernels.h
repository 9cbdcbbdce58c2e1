#pragma once
// The two passes of a resize, vectorised. Private to ops; see resize.h for what they compute.
//
// Preconditions: rows of interleaved RGB; the source's width and height are the inputs of the two filters; every
// source row holds at least kResizeMinRowBytes, or is followed by that many readable bytes; `out` has 64 writable bytes
// behind its last row.

#include <cstddef>
#include <cstdint>

#include "unstarve/ops/resize_tables.h"

namespace unstarve {

inline constexpr std::size_t kResizeMinRowBytes = 64;

void resize_rows(const std::uint8_t* source, std::ptrdiff_t row_stride, Scratch::ResizeTables& tables,
                 std::uint8_t* out);

}  // namespace unstarve
