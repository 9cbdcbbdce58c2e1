// Away from or towards the mean luma: torchvision's ColorJitter(contrast), Pillow's ImageEnhance.Contrast.

#include "unstarve/ops/colour/colour_operation.h"
#include "unstarve/ops/colour/colours.h"
#include "unstarve/ops/colour/counts.h"
#include "unstarve/ops/colour/tables.h"
#include "unstarve/ops/operation_list.h"
#include "unstarve/ops/parameters.h"

namespace unstarve {
namespace {

class Contrast final : public ColourOperation {
 public:
  Contrast(std::pair<double, double> factor, double probability)
      : ColourOperation(probability, factor.first < factor.second), factor_(factor) {}

 private:
  void change(Frame& frame, Random& random, Scratch& scratch) const override {
    adjust_contrast(frame, random.uniform(factor_.first, factor_.second), scratch);
  }

  std::pair<double, double> factor_;
};

}  // namespace

void adjust_contrast(Frame& frame, double factor, Scratch& scratch) {
  const int mean = mean_luma(frame);
  chain_of(frame, scratch).add_table(blend_table(mean, factor));
}

std::unique_ptr<Operation> make_contrast(const OpParams& params) {
  const Parameters p("contrast", params, {"factor", "probability"});
  return std::make_unique<Contrast>(p.interval("factor", {0.6, 1.4}, 0, kMaxBlend), p.number("probability", 1, 0, 1));
}

}  // namespace unstarve
