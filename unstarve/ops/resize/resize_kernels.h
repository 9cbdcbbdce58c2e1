#pragma once
// The two passes of a resize, vectorised, as rows of the input come. Private to ops; resize.h tells what they compute.

#include <cstddef>
#include <cstdint>

#include "unstarve/ops/resize/resize_tables.h"

namespace unstarve {

// By the two filters of `tables`; `out` has 64 writable bytes behind its last row.
void begin_resize(ResizeTables& tables, std::uint8_t* out);

// The next `count` rows of interleaved RGB, `stride` bytes apart, as wide as the horizontal filter's input. Behind each
// of them, also the last, resize_slack() bytes are readable, whatever they hold. With the last row of the input, all of
// the output is there.
void push_rows(const std::uint8_t* rows, std::ptrdiff_t stride, int count, ResizeTables& tables);

// What vectors read beyond a row, for taps whose weight is 0.
[[nodiscard]] inline std::size_t resize_slack(const AxisFilter& horizontal) {
  return static_cast<std::size_t>(horizontal.taps()) * kChannels + 128;
}

}  // namespace unstarve
