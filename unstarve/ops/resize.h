#pragma once
// Bilinear resize with antialiasing, as Pillow's BILINEAR and torchvision's antialias=True: a triangle filter whose
// support grows with the reduction factor, one pass per axis, each rounded to 8 bits from fixed-point weights (see
// resize_filter.h for their precision).
//
// Order: vertical first, row by row, so that what lies between the passes is one row in the first-level cache; Pillow
// goes horizontally first. Either order rounds once between the passes, by at most half a step, so the results lie at
// most 1 of 255 apart.
// Agreement: at most 1 of 255 away from Pillow at any pixel; the SIMD kernels are bit-equal to
// resize_bilinear_reference().
// Threads: pure but for `scratch`. Failure: none (sizes are positive by precondition). Cost: only the window is read; a
// window that reaches outside of its pixels, is narrower than 22 pixels or not interleaved is copied first.

#include "unstarve/ops/frame.h"

namespace unstarve {

// Resizes the frame's window to `size`; points `frame` to an image of `scratch` (mirrored is kept as a flag).
void resize_bilinear(Frame& frame, Size size, Scratch& scratch);
// The same by plain loops, for tests.
void resize_bilinear_reference(const Frame& frame, Size size, Image& out);

}  // namespace unstarve
