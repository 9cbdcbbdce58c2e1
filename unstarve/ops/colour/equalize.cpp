// Makes the values of each channel about equally frequent: Pillow's ImageOps.equalize, torchvision's RandomEqualize.

#include <cstdint>

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/recorder.h"
#include "unstarve/ops/colour/colour_operation.h"
#include "unstarve/ops/colour/colours.h"
#include "unstarve/ops/colour/counts.h"
#include "unstarve/ops/colour/measured.h"

namespace unstarve {

void equalize(Frame& frame, Scratch& scratch) {
  if (Recorder* recorder = scratch.recorder()) return recorder->equalize(frame);
  const Histograms counts = histograms(frame);
  PointTable table;
  for (std::size_t c = 0; c < kChannels; ++c) {
    std::uint64_t all = 0, last = 0;
    for (const std::uint32_t count : counts[c]) {
      all += count;
      if (count > 0) last = count;
    }
    // As in Pillow, the pixels of the largest value do not count for the step; without a step nothing changes.
    const std::uint64_t step = (all - last) / 255;
    std::uint64_t below = step / 2;
    for (std::size_t value = 0; value < 256; ++value) {
      table.of[c][value] = equalized(static_cast<std::uint8_t>(value), below, step);
      below += counts[c][value];
    }
  }
  chain_of(frame, scratch).add_table(table);
}

std::unique_ptr<Operation> make_equalize(const OpParams& params) {
  const Parameters p("equalize", params, {"probability"});
  return std::make_unique<PlainColour>(equalize, p.number("probability", 0.5, 0, 1));
}

}  // namespace unstarve
