// Sharpens or smooths: torchvision's RandomAdjustSharpness, Pillow's ImageEnhance.Sharpness.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/point_chain.h"
#include "unstarve/ops/base/recorder.h"
#include "unstarve/ops/base/same_size_operation.h"
#include "unstarve/ops/base/window.h"
#include "unstarve/ops/filter/filter_kernels.h"
#include "unstarve/ops/filter/filters.h"

namespace unstarve {

void adjust_sharpness(Frame& frame, double factor, Scratch& scratch) {
  const auto weight = static_cast<std::int32_t>(std::lround(factor * (1 << kPointBits)));
  if (Recorder* recorder = scratch.recorder()) return recorder->sharpen(frame, weight);
  const Image& in = make_pixels(frame, scratch);
  Image& out = scratch.other_than(frame);
  out.resize(frame.size());
  const std::size_t bytes = in.row_bytes();
  for (int y = 0; y < frame.height; ++y) {
    const std::uint8_t* const row = in.row(y);
    std::uint8_t* const to = out.row(y);
    if (y == 0 || y == frame.height - 1 || frame.width < 3) {
      std::memcpy(to, row, bytes);
      continue;
    }
    const std::uint8_t* const above = in.row(y - 1);
    const std::uint8_t* const below = in.row(y + 1);
    std::copy_n(row, kChannels, to);
    sharpen_row({above + kChannels, row + kChannels, below + kChannels}, weight, bytes - 2 * kChannels, to + kChannels);
    std::copy_n(row + bytes - kChannels, kChannels, to + bytes - kChannels);
  }
  frame = Frame(out.view());
}

std::unique_ptr<Operation> make_sharpness(const OpParams& params) {
  const Parameters p("sharpness", params, {"factor", "probability"});
  return drawn_change(adjust_sharpness, p.interval("factor", {0.6, 1.4}, 0, kMaxBlend),
                      {.probability = p.number("probability", 1, 0, 1), .writes_pixels = true});
}

}  // namespace unstarve
