#pragma once
// What lies beyond an image's edges: nothing but a colour, or its own pixels again. The arithmetic is for the host and
// for GPUs. Private to ops.
//
// Threads: pure; one at a time per scratch.

#include <array>
#include <cstdint>

#include "unstarve/core/image.h"
#include "unstarve/ops/base/host_device.h"

namespace unstarve {

struct Frame;
class Scratch;

// torchvision's padding_mode; of pixels abcd: constant ..abcd.., edge aaabcddd, reflect cbabcdcb, symmetric baabcddc.
enum class Border : std::int32_t { kConstant, kEdge, kReflect, kSymmetric };

// 0 .. side - 1 from an index beyond by any distance: ... 2 1 0 1 2 ... side-1 side-2 ...
UNSTARVE_HD inline int mirrored_index(int i, int side) {
  if (side == 1) return 0;
  const int period = 2 * (side - 1);
  i = (i < 0 ? -i : i) % period;
  return i < side ? i : period - i;
}

// The place within a row or column of `side` pixels that is seen at `at`, which may lie beyond on either side and any
// number of times, as numpy.pad goes on. Not of kConstant.
UNSTARVE_HD inline int border_index(Border border, int at, int side) {
  if (at >= 0 && at < side) return at;
  if (border == Border::kEdge) return at < 0 ? 0 : side - 1;
  if (border == Border::kReflect) return mirrored_index(at, side);
  const int period = 2 * side;
  int place = at % period;
  if (place < 0) place += period;
  return place < side ? place : period - 1 - place;
}

// Crops the frame to `window`, which may reach beyond it: what shows there is of `border`, of kConstant `fill`. What
// lies beyond already is kept as it looks.
void crop_with_border(Frame& frame, Rect window, Border border, const std::array<std::uint8_t, kChannels>& fill,
                      Scratch& scratch);

}  // namespace unstarve
