// Blends with the mean luma: torchvision's ColorJitter(contrast), Pillow's ImageEnhance.Contrast.

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/recorder.h"
#include "unstarve/ops/colour/colour_operation.h"
#include "unstarve/ops/colour/colours.h"
#include "unstarve/ops/colour/counts.h"
#include "unstarve/ops/colour/tables.h"

namespace unstarve {

void adjust_contrast(Frame& frame, double factor, Scratch& scratch) {
  if (Recorder* recorder = scratch.recorder()) return recorder->adjust_contrast(frame, blend_weight(factor));
  const int mean = mean_luma(frame);
  chain_of(frame, scratch).add_table(blend_table(mean, factor));
}

std::unique_ptr<Operation> make_contrast(const OpParams& params) {
  const Parameters p("contrast", params, {"factor", "probability"});
  return std::make_unique<DrawnColour>(adjust_contrast, p.interval("factor", {0.6, 1.4}, 0, kMaxBlend),
                                       p.number("probability", 1, 0, 1));
}

}  // namespace unstarve
