// Stretches each channel to 0..255: Pillow's ImageOps.autocontrast, torchvision's RandomAutocontrast.

#include <cstdint>

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/recorder.h"
#include "unstarve/ops/colour/colour_operation.h"
#include "unstarve/ops/colour/colours.h"
#include "unstarve/ops/colour/counts.h"
#include "unstarve/ops/colour/measured.h"

namespace unstarve {

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

std::unique_ptr<Operation> make_auto_contrast(const OpParams& params) {
  const Parameters p("auto_contrast", params, {"probability"});
  return std::make_unique<PlainColour>(auto_contrast, p.number("probability", 0.5, 0, 1));
}

}  // namespace unstarve
