#pragma once
// What a resize makes of a picture: all of its output, or a part, for which it reads a part of its input.
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
  Size input;   // the whole of it
  ResizeTo to;  // the whole of it
  Rect made;    // the part of the output, inside of it, not empty
};

[[nodiscard]] inline ResizePart whole_resize(Size input, const ResizeTo& to) {
  return {input, to, {0, 0, to.size.width, to.size.height}};
}

}  // namespace unstarve
