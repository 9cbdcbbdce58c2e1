#pragma once
// Resize by a separable filter (resampling.h), by default as Pillow's BILINEAR and torchvision's antialias=True: a
// triangle whose support grows with the reduction factor. The horizontal pass comes first, then the vertical one, each
// rounded and clipped to 8 bits from fixed-point weights (see resize_filter.h for their precision).
//
// Agreement: bilinear gives the same bits as torchvision on 8-bit tensors (torch's own vectorised kernel); at most 1 of
// 255 away from Pillow, in 0.2 % of a photograph's values when reducing and 1 % when enlarging; the other filters as
// docs/reference/operations.md says (tests/python/operations/test_ops_golden.py, test_resize_golden.py). The SIMD kernels are bit-equal to
// resize_reference().
// Threads: pure but for `scratch`. Failure: none (sizes are positive by precondition). Cost: only the window is read; a
// window that reaches outside of its pixels or is not interleaved is copied first.

#include <cstdint>

#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/resize/resize_part.h"

namespace unstarve {

// Resizes the frame's window to `size`; points `frame` to an image of `scratch` (mirrored is kept as a flag).
void resize(Frame& frame, Size size, Resampling resampling, Scratch& scratch);
// The part of the input that a part of the output is made from.
[[nodiscard]] Rect read_by(const ResizePart& part, Scratch& scratch);
// Makes that part; the frame's window is what read_by() tells of the whole input, and nothing else of it is read.
void resize_part(Frame& frame, const ResizePart& part, Scratch& scratch);
// Bytes that it takes beside the two images of `scratch`, at most; not less for a larger window.
[[nodiscard]] std::uint64_t resize_scratch_bytes(Size window, Size size, Resampling resampling);
inline void resize_bilinear(Frame& frame, Size size, Scratch& scratch) { resize(frame, size, {}, scratch); }
// The same by plain loops, for tests.
void resize_reference(const Frame& frame, Size size, Resampling resampling, Image& out);

}  // namespace unstarve
