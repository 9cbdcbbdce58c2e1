#pragma once
// The memory of a resize, reused between calls: no allocation after the largest sample. Private to ops.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "unstarve/codecs/common/orientation.h"
#include "unstarve/core/memory/aligned.h"
#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/resize/axis_filter.h"
#include "unstarve/ops/resize/resize_part.h"

namespace unstarve {

// The horizontal weights in the order in which the horizontal kernel reads them.
struct HorizontalTables {
  AlignedBytes spread;                // the weights, in the order of the kernel's vectors
  std::vector<std::int32_t> offsets;  // byte offset of every output pixel's first input pixel
  AlignedBytes indices;               // bytes that each vector takes, for kernels that permute bytes
  std::size_t permuted = 0;           // vector bytes of the permuting kernel; 0: the other kernel is used
  int loads = 0;                      // permuting kernel: vectors that hold all taps of its sums; 0: one load per pair
};

struct ResizeTables final : ScratchPart {
  AxisFilter vertical;
  AxisFilter horizontal;
  // True for an image stored rotated by 90 degrees. Its vertical pass is the horizontal one of the upright image and
  // must come first, as sums are rounded between the passes.
  bool vertical_first = false;
  HorizontalTables kernel;
  AlignedBytes between;                   // rows between the passes, or the input rows if the vertical pass is first
  AlignedBytes line;                      // one row between the passes if the vertical one is first
  std::vector<const std::uint8_t*> rows;  // the rows that the vertical pass sums
  AlignedBytes strip;                     // rows copied for the resize (resize_rows.h)
  // Progress: input lines so far, output rows so far, and the address of the next output row.
  int lines = 0, made = 0;
  std::uint8_t* out = nullptr;

  // Builds the filters for rows as they are stored; `part` is of the upright image.
  void build(const ResizePart& part, int orientation = 1) {
    const Rect& to = part.made;
    vertical_first = exchanges_axes(orientation);
    AxisFilter& down = vertical_first ? horizontal : vertical;
    AxisFilter& across = vertical_first ? vertical : horizontal;
    const bool from_below = vertical_first ? reverses_x(orientation) : reverses_y(orientation);
    const bool from_right = vertical_first ? reverses_y(orientation) : reverses_x(orientation);
    down.build(part.input.height, part.to.size.height, part.to.resampling, {to.y, to.y + to.height, from_below});
    across.build(part.input.width, part.to.size.width, part.to.resampling, {to.x, to.x + to.width, from_right});
  }

  [[nodiscard]] std::uint64_t bytes_held() const override {
    return vertical.bytes_held() + horizontal.bytes_held() + between.capacity() + line.capacity() + strip.capacity() +
           kernel.spread.capacity() + kernel.indices.capacity() + kernel.offsets.capacity() * sizeof(std::int32_t) +
           rows.capacity() * sizeof(rows[0]);
  }
};

}  // namespace unstarve
