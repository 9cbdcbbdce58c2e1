#pragma once
// One row of a view as interleaved RGB, for encoders that read rows. Threads: a pure function.

#include "unstarve/core/image.h"

namespace unstarve {

// The row itself if the view is interleaved; otherwise a copy in `scratch` (3 * width bytes).
[[nodiscard]] inline const std::uint8_t* interleaved_row(const PixelView& pixels, int y,
                                                         std::uint8_t* scratch) noexcept {
  if (pixels.interleaved()) return pixels.data + y * pixels.row_stride;
  for (int x = 0; x < pixels.width; ++x) {
    for (int c = 0; c < kChannels; ++c) scratch[x * kChannels + c] = pixels.at(x, y, c);
  }
  return scratch;
}

}  // namespace unstarve
