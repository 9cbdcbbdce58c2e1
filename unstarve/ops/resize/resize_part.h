#pragma once
// A resize whose output may be needed only in part; it then reads a part of its input.
//
//   input   +-----------------+        output  +-----------+
//           |   +---------+   |                |  +-----+  |
//           |   | read_by |   |   ──────▶      |  | made|  |        the bits are those of the whole
//           |   +---------+   |                |  +-----+  |
//           +-----------------+                +-----------+
//
// Threads: plain data.

#include "unstarve/core/image.h"
#include "unstarve/ops/base/resampling.h"

namespace unstarve {

struct ResizePart {
  Size input;   // whole input
  ResizeTo to;  // whole output
  Rect made;    // the part of the output to compute, not empty
};

[[nodiscard]] inline ResizePart whole_resize(Size input, const ResizeTo& to) {
  return {input, to, {0, 0, to.size.width, to.size.height}};
}

}  // namespace unstarve
