// A few changes drawn from fourteen, all of one magnitude: RandAugment (Cubuk et al., "RandAugment: practical automated
// data augmentation with a reduced search space", 2019), as torchvision has it.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/core/error.h"
#include "unstarve/ops/operation_list.h"
#include "unstarve/ops/parameters.h"
#include "unstarve/ops/policy/magnitudes.h"

namespace unstarve {
namespace {

class RandAugment final : public Operation {
 public:
  RandAugment(int changes, int magnitude, int bins) : changes_(changes), magnitude_(magnitude), bins_(bins) {}

  [[nodiscard]] bool random() const override { return true; }
  Size output_size(Size selected) const override { return selected; }
  void apply(Frame& frame, Random& random, Scratch& scratch) const override {
    for (int i = 0; i < changes_; ++i) {
      const auto change = static_cast<Change>(random.below(kUsualChanges));
      const double magnitude = magnitude_at(change, magnitude_, bins_, kAugmentSpace, frame.size());
      const bool negative = is_signed(change) && random.below(2) == 1;
      change_by(frame, change, negative ? -magnitude : magnitude, scratch);
    }
  }

 private:
  int changes_, magnitude_, bins_;
};

}  // namespace

std::unique_ptr<Operation> make_rand_augment(const OpParams& params) {
  const Parameters p("rand_augment", params, {"changes", "magnitude", "bins"});
  const int changes = p.integer("changes", 2, 0, 100);
  const int bins = p.integer("bins", 31, 2, 1000);
  const int magnitude = p.integer("magnitude", std::min(9, bins - 1), 0, 999);
  if (magnitude >= bins) {
    throw Error(ErrorKind::kArgument, fmt::format("operation rand_augment: parameter 'magnitude' is {}; expected less "
                                                  "than bins, which is {}",
                                                  magnitude, bins));
  }
  return std::make_unique<RandAugment>(changes, magnitude, bins);
}

}  // namespace unstarve
