#pragma once
// Bilinear resize with antialiasing, as Pillow's BILINEAR and torchvision's antialias=True: a triangle filter whose
// support grows with the reduction factor, horizontal pass first, then vertical, each rounded to 8 bits from
// fixed-point weights (see resize.cpp for the precision chosen and its source).
//
// Agreement: at most 1 of 255 away from Pillow at any pixel; the SIMD kernels are bit-equal to resize_reference().
// Threads: pure but for `scratch`. Failure: none (sizes are positive by precondition).

#include "unstarve/ops/frame.h"

namespace unstarve {

// Resizes the frame's window to `size`; points `frame` to an image of `scratch` (mirrored is kept as a flag).
void resize_bilinear(Frame& frame, Size size, Scratch& scratch);
// The same by plain loops, for tests.
void resize_bilinear_reference(const Frame& frame, Size size, Image& out);

}  // namespace unstarve
