#pragma once
// Resize by a separable filter (resampling.h); by default a triangle whose support grows with the reduction factor, as
// Pillow's BILINEAR and torchvision's antialias=True. The horizontal pass comes first, then the vertical one. Each is
// rounded and clipped to 8 bits; weights are fixed-point (axis_filter.h).
//
// Agreement: bilinear gives the same bits as torchvision on 8-bit tensors (torch's own vectorised kernel); at most 1 of
// 255 away from Pillow, in 0.2 % of a photograph's values when reducing and 1 % when enlarging. For the other filters
// see docs/reference/operations.md (tests/python/operations: test_ops_golden.py, test_resize_golden.py). The SIMD
// kernels are bit-equal to resize_reference().
// Threads: one at a time per scratch. Failure: none (sizes are positive by precondition). Cost: only the window is
// read; a window that reaches outside of its pixels or is not interleaved is copied first.

#include <cstdint>

#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/resize/resize_part.h"

namespace unstarve {

// Resizes the frame's window to `size`; points `frame` to an image of `scratch` (`mirrored` stays a flag).
void resize(Frame& frame, Size size, Resampling resampling, Scratch& scratch);
// The part of the input that a part of the output is computed from.
[[nodiscard]] Rect read_by(const ResizePart& part, Scratch& scratch);
// Computes a part of the output. The frame's window is read_by(part) of the whole input; nothing else is read.
void resize_part(Frame& frame, const ResizePart& part, Scratch& scratch);
// Upper bound of the memory in addition to the two images of `scratch`; grows with the window.
[[nodiscard]] std::uint64_t resize_scratch_bytes(Size window, Size size, Resampling resampling);
inline void resize_bilinear(Frame& frame, Size size, Scratch& scratch) { resize(frame, size, {}, scratch); }
// The same by scalar loops, for tests.
void resize_reference(const Frame& frame, Size size, Resampling resampling, Image& out);

}  // namespace unstarve
