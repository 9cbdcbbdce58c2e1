// Operations that are one function of 8 bits for all channels: posterize, solarize, invert.

#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/same_size_operation.h"
#include "unstarve/ops/colour/colours.h"
#include "unstarve/ops/colour/tables.h"

namespace unstarve {

void posterize(Frame& frame, int bits, Scratch& scratch) {
  const int mask = 0xFF & ~(0xFF >> bits);
  chain_of(frame, scratch).add_table(table_of([&](int value) { return value & mask; }));
}

void solarize(Frame& frame, int threshold, Scratch& scratch) {
  chain_of(frame, scratch).add_table(table_of([&](int value) { return value < threshold ? value : 255 - value; }));
}

void invert(Frame& frame, Scratch& scratch) {
  chain_of(frame, scratch).add_table(table_of([](int value) { return 255 - value; }));
}

// Pillow's ImageOps.posterize, torchvision's RandomPosterize.
std::unique_ptr<Operation> make_posterize(const OpParams& params) {
  const Parameters p("posterize", params, {"bits", "probability"});
  const int bits = p.integer("bits", 4, 1, 8);
  return change_operation({.probability = p.number("probability", 0.5, 0, 1)},
                          [bits](Frame& frame, Random&, Scratch& scratch) { posterize(frame, bits, scratch); });
}

// Pillow's ImageOps.solarize, torchvision's RandomSolarize.
std::unique_ptr<Operation> make_solarize(const OpParams& params) {
  const Parameters p("solarize", params, {"threshold", "probability"});
  const int threshold = p.integer("threshold", 128, 0, 256);
  return change_operation(
      {.probability = p.number("probability", 0.5, 0, 1)},
      [threshold](Frame& frame, Random&, Scratch& scratch) { solarize(frame, threshold, scratch); });
}

// Pillow's ImageOps.invert, torchvision's RandomInvert.
std::unique_ptr<Operation> make_invert(const OpParams& params) {
  const Parameters p("invert", params, {"probability"});
  return change_operation({.probability = p.number("probability", 0.5, 0, 1)},
                          [](Frame& frame, Random&, Scratch& scratch) { invert(frame, scratch); });
}

}  // namespace unstarve
