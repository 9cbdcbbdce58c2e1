// The adjustments that color_jitter combines, each as an operation, and grayscale.

#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/recorder.h"
#include "unstarve/ops/base/same_size_operation.h"
#include "unstarve/ops/colour/colours.h"
#include "unstarve/ops/colour/counts.h"
#include "unstarve/ops/colour/tables.h"

namespace unstarve {

void adjust_brightness(Frame& frame, double factor, Scratch& scratch) {
  chain_of(frame, scratch).add_table(blend_table(0, factor));
}

void adjust_contrast(Frame& frame, double factor, Scratch& scratch) {
  if (Recorder* recorder = scratch.recorder()) return recorder->adjust_contrast(frame, blend_weight(factor));
  const int mean = mean_luma(frame);
  chain_of(frame, scratch).add_table(blend_table(mean, factor));
}

void adjust_saturation(Frame& frame, double factor, Scratch& scratch) {
  chain_of(frame, scratch).add_blend_grey(factor);
}

void adjust_hue(Frame& frame, double shift, Scratch& scratch) { chain_of(frame, scratch).add_hue(shift); }

void make_grey(Frame& frame, Scratch& scratch) { chain_of(frame, scratch).add_blend_grey(0); }

// torchvision's ColorJitter(brightness), Pillow's ImageEnhance.Brightness.
std::unique_ptr<Operation> make_brightness(const OpParams& params) {
  const Parameters p("brightness", params, {"factor", "probability"});
  return drawn_change(adjust_brightness, p.interval("factor", {0.6, 1.4}, 0, kMaxBlend),
                      {.probability = p.number("probability", 1, 0, 1)});
}

// torchvision's ColorJitter(contrast), Pillow's ImageEnhance.Contrast.
std::unique_ptr<Operation> make_contrast(const OpParams& params) {
  const Parameters p("contrast", params, {"factor", "probability"});
  return drawn_change(adjust_contrast, p.interval("factor", {0.6, 1.4}, 0, kMaxBlend),
                      {.probability = p.number("probability", 1, 0, 1)});
}

// torchvision's ColorJitter(saturation), Pillow's ImageEnhance.Color.
std::unique_ptr<Operation> make_saturation(const OpParams& params) {
  const Parameters p("saturation", params, {"factor", "probability"});
  return drawn_change(adjust_saturation, p.interval("factor", {0.6, 1.4}, 0, kMaxBlend),
                      {.probability = p.number("probability", 1, 0, 1)});
}

// torchvision's ColorJitter(hue).
std::unique_ptr<Operation> make_hue(const OpParams& params) {
  const Parameters p("hue", params, {"shift", "probability"});
  return drawn_change(adjust_hue, p.interval("shift", {-0.1, 0.1}, -0.5, 0.5),
                      {.probability = p.number("probability", 1, 0, 1)});
}

// torchvision's RandomGrayscale.
std::unique_ptr<Operation> make_grayscale(const OpParams& params) {
  const Parameters p("grayscale", params, {"probability"});
  return change_operation({.probability = p.number("probability", 0.1, 0, 1)},
                          [](Frame& frame, Random&, Scratch& scratch) { make_grey(frame, scratch); });
}

}  // namespace unstarve
