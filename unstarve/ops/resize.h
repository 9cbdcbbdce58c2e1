#pragma once
// Bilinear resize with antialiasing, as Pillow's BILINEAR and torchvision's antialias=True: a triangle filter whose
// support grows with the reduction factor, horizontal pass first, then vertical, each rounded to 8 bits from
// fixed-point weights (see resize_filter.h for their precision).
//
// Agreement: the same bits as torchvision on 8-bit tensors (torch's own vectorised kernel); at most 1 of 255 away from
// Pillow, in 0.2 % of a photograph's values when reducing and 1 % when enlarging (tests/python/test_ops_golden.py). The
// SIMD kernels are bit-equal to resize_bilinear_reference().
// Threads: pure but for `scratch`. Failure: none (sizes are positive by precondition). Cost: only the window is read; a
// window that reaches outside of its pixels, is narrower than 22 pixels or not interleaved is copied first.

#include "unstarve/ops/frame.h"

namespace unstarve {

// Resizes the frame's window to `size`; points `frame` to an image of `scratch` (mirrored is kept as a flag).
void resize_bilinear(Frame& frame, Size size, Scratch& scratch);
// The same by plain loops, for tests.
void resize_bilinear_reference(const Frame& frame, Size size, Image& out);

}  // namespace unstarve
