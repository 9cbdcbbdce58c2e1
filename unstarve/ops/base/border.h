#pragma once
// Padding: the pixels beyond the edges of an image, one colour or pixels of the image. The arithmetic is for the host
// and for GPUs. Private to ops.
//
// Threads: pure; one at a time per scratch.

#include <cstdint>

#include "unstarve/core/image.h"
#include "unstarve/ops/base/host_device.h"

namespace unstarve {

struct Frame;
class Scratch;

// torchvision's padding_mode; of pixels abcd: constant ..abcd.., edge aaabcddd, reflect cbabcdcb, symmetric baabcddc.
enum class Border : std::int32_t { kConstant, kEdge, kReflect, kSymmetric };

// Maps any index to 0 .. side - 1 by reflection: ... 2 1 0 1 2 ... side-1 side-2 ...
UNSTARVE_HD inline int mirrored_index(int i, int side) {
  if (side == 1) return 0;
  const int period = 2 * (side - 1);
  i = (i < 0 ? -i : i) % period;
  return i < side ? i : period - i;
}

// The index within a row or column of `side` pixels of the pixel shown at `at`, which may be outside by any distance,
// as in numpy.pad. Not for kConstant.
UNSTARVE_HD inline int border_index(Border border, int at, int side) {
  if (at >= 0 && at < side) return at;
  if (border == Border::kEdge) return at < 0 ? 0 : side - 1;
  if (border == Border::kReflect) return mirrored_index(at, side);
  const int period = 2 * side;
  int index = at % period;
  if (index < 0) index += period;
  return index < side ? index : period - 1 - index;
}

// Crops the frame to `window`. Parts of the window beyond the frame show `border` (kConstant: `fill`). The contents of
// the frame, including its fill, are unchanged.
void crop_with_border(Frame& frame, Rect window, Border border, const Rgb& fill, Scratch& scratch);

}  // namespace unstarve
