#pragma once
// What a resize keeps between calls, so that it allocates nothing once it has met its largest sample. Private to ops.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "unstarve/codecs/common/orientation.h"
#include "unstarve/core/aligned.h"
#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/resize/axis_filter.h"
#include "unstarve/ops/resize/resize_part.h"

namespace unstarve {

struct ResizeTables final : ScratchPart {
  AxisFilter vertical;
  AxisFilter horizontal;
  // Of a picture that is turned by a right angle, the vertical pass is what its upright rows' would be, so it is first:
  // the sums are rounded in between.
  bool vertical_first = false;
  AlignedBytes between;               // rows between the passes; those before the first where it is the vertical one
  AlignedBytes line;                  // one row between them, where the vertical pass is the first
  AlignedBytes spread;                // the horizontal filter's weights in the order of the kernel's vectors
  std::vector<std::int32_t> offsets;  // byte offset of every output pixel's first input pixel
  AlignedBytes indices;               // which bytes a vector takes, where those can be permuted freely
  std::size_t permuted = 0;           // vector bytes of that kernel; 0: the other one, and its tables, are in use
  int loads = 0;                      // of that kernel: vectors that hold all taps of its sums; 0: each pair its own
  std::vector<const std::uint8_t*> rows;  // those that the vertical pass sums
  AlignedBytes strip;                     // rows on their way into a resize (resize_rows.h)
  // How far a resize is: lines of the input so far, rows made of them, and where the next one goes.
  int lines = 0, made = 0;
  std::uint8_t* out = nullptr;

  // The two filters, of rows of the picture as it is stored; `part` is of the upright one.
  void build(const ResizePart& part, int orientation = 1) {
    const Rect& to = part.made;
    vertical_first = exchanges_axes(orientation);
    AxisFilter& down = vertical_first ? horizontal : vertical;
    AxisFilter& across = vertical_first ? vertical : horizontal;
    const bool from_below = vertical_first ? reverses_x(orientation) : reverses_y(orientation);
    const bool from_right = vertical_first ? reverses_y(orientation) : reverses_x(orientation);
    down.build(part.input.height, part.to.size.height, part.to.resampling, to.y, to.y + to.height, from_below);
    across.build(part.input.width, part.to.size.width, part.to.resampling, to.x, to.x + to.width, from_right);
  }

  [[nodiscard]] std::uint64_t bytes_held() const override {
    return vertical.bytes_held() + horizontal.bytes_held() + between.capacity() + line.capacity() + strip.capacity() +
           spread.capacity() + indices.capacity() + offsets.capacity() * sizeof(std::int32_t) +
           rows.capacity() * sizeof(rows[0]);
  }
};

}  // namespace unstarve
