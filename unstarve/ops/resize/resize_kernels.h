#pragma once
// The two vectorised passes of a resize (resize.h), fed with rows of the input as they arrive. Private to ops.

#include <cstddef>
#include <cstdint>

#include "unstarve/ops/resize/resize_tables.h"

namespace unstarve {

// Starts a resize by the two filters of `tables`. `out` has 64 writable bytes after its last row.
void begin_resize(ResizeTables& tables, std::uint8_t* out);

// Adds the next `count` rows of interleaved RGB, `stride` bytes apart, as wide as the horizontal filter's input. After
// each row, including the last, resize_slack() bytes are readable; their values do not matter. The output is complete
// after the last row of the input.
void push_rows(const std::uint8_t* rows, std::ptrdiff_t stride, int count, ResizeTables& tables);

// Bytes that vectors read beyond a row, for taps of weight 0.
[[nodiscard]] inline std::size_t resize_slack(const AxisFilter& horizontal) {
  return static_cast<std::size_t>(horizontal.taps()) * kChannels + 128;
}

}  // namespace unstarve
