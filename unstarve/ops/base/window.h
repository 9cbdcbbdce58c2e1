#pragma once
// Copies rows of a frame's window to memory and applies everything that a Frame only describes: position, fill,
// mirroring, colours, planar or interleaved layout.
//
// Reads only pixels of the window and writes only bytes of the rows, so both may end at the end of a page.
// Threads: pure. Cost: near a copy for interleaved and planar pixels; views of other strides go pixel by pixel.

#include <cstddef>
#include <cstdint>

#include "unstarve/ops/base/frame.h"

namespace unstarve {

// Where row y, channel c of the copy begins: data + y * row_stride + c * channel_stride. channel_stride 1 means
// interleaved rows, anything else planar ones.
struct RowTarget {
  std::uint8_t* data = nullptr;
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t channel_stride = 1;
};

// Rows [first, first + count) of the window, to rows [0, count) of the target.
void copy_window(const Frame& frame, int first, int count, const RowTarget& target);

// Writes the frame to an interleaved image of `scratch`, points the frame to it, and returns it.
Image& make_pixels(Frame& frame, Scratch& scratch);

// One value of the window's pixel (x, y): the reference for tests.
[[nodiscard]] std::uint8_t window_value(const Frame& frame, int x, int y, int channel);

}  // namespace unstarve
