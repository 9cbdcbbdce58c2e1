#pragma once
// What a resize keeps between calls, so that it allocates nothing once it has met its largest sample. Private to ops.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "unstarve/core/aligned.h"
#include "unstarve/ops/frame.h"
#include "unstarve/ops/resize_filter.h"

namespace unstarve {

struct Scratch::ResizeTables {
  AxisFilter vertical;
  AxisFilter horizontal;
  AlignedBytes between;                   // rows between the passes
  AlignedBytes last_row;                  // of the source, with room behind it
  AlignedBytes spread;                    // the horizontal filter's weights in the order of the kernel's vectors
  std::vector<std::int32_t> offsets;      // byte offset of every output pixel's first input pixel
  AlignedBytes indices;                   // which bytes a vector takes, where those can be permuted freely
  std::size_t permuted = 0;               // vector bytes of that kernel; 0: the other one, and its tables, are in use
  std::vector<const std::uint8_t*> rows;  // those that the vertical pass sums

  [[nodiscard]] std::uint64_t held() const {
    return vertical.held() + horizontal.held() + between.capacity() + last_row.capacity() + spread.capacity() +
           indices.capacity() + offsets.capacity() * sizeof(std::int32_t) + rows.capacity() * sizeof(rows[0]);
  }
};

}  // namespace unstarve
