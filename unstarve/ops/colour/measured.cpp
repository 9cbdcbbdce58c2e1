// Operations that depend on the values of the whole image: equalize and auto_contrast.

#include <cstdint>

#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/recorder.h"
#include "unstarve/ops/base/same_size_operation.h"
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

void auto_contrast(Frame& frame, Scratch& scratch) {
  if (Recorder* recorder = scratch.recorder()) return recorder->auto_contrast(frame);
  const Extremes found = extremes(frame);
  PointTable table;
  for (std::size_t c = 0; c < kChannels; ++c) {
    for (int value = 0; value < 256; ++value) {
      table.of[c][static_cast<std::size_t>(value)] = spread(value, found.least[c], found.most[c]);
    }
  }
  chain_of(frame, scratch).add_table(table);
}

// Pillow's ImageOps.equalize, torchvision's RandomEqualize.
std::unique_ptr<Operation> make_equalize(const OpParams& params) {
  const Parameters p("equalize", params, {"probability"});
  return change_operation({.probability = p.number("probability", 0.5, 0, 1)},
                          [](Frame& frame, Random&, Scratch& scratch) { equalize(frame, scratch); });
}

// Pillow's ImageOps.autocontrast, torchvision's RandomAutocontrast.
std::unique_ptr<Operation> make_auto_contrast(const OpParams& params) {
  const Parameters p("auto_contrast", params, {"probability"});
  return change_operation({.probability = p.number("probability", 0.5, 0, 1)},
                          [](Frame& frame, Random&, Scratch& scratch) { auto_contrast(frame, scratch); });
}

}  // namespace unstarve
