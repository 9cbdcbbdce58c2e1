// A few changes drawn from fourteen, all of one magnitude: RandAugment (Cubuk et al., "RandAugment: practical automated
// data augmentation with a reduced search space", 2019), as torchvision has it.

#include "unstarve/ops/geometry/read_interpolation.h"
#include "unstarve/ops/operation_list.h"
#include "unstarve/ops/parameters.h"
#include "unstarve/ops/policy/magnitudes.h"

namespace unstarve {
namespace {

constexpr int kBins = 31;  // torchvision's number of magnitudes

class RandAugment final : public Operation {
 public:
  RandAugment(int changes, int magnitude, Interpolation how) : changes_(changes), magnitude_(magnitude), how_(how) {}

  [[nodiscard]] bool random() const override { return true; }
  [[nodiscard]] bool writes_pixels() const override { return true; }
  Size output_size(Size selected) const override { return selected; }
  void apply(Frame& frame, Random& random, Scratch& scratch) const override {
    for (int i = 0; i < changes_; ++i) {
      const auto change = static_cast<Change>(random.below(kUsualChanges));
      const double magnitude = magnitude_at(change, magnitude_, kBins, kAugmentSpace, frame.size());
      const bool negative = is_signed(change) && random.below(2) == 1;
      change_by(frame, change, negative ? -magnitude : magnitude, how_, scratch);
    }
  }

 private:
  int changes_, magnitude_;
  Interpolation how_;
};

}  // namespace

std::unique_ptr<Operation> make_rand_augment(const OpParams& params) {
  const Parameters p("rand_augment", params, {"changes", "magnitude", "interpolation"});
  return std::make_unique<RandAugment>(p.integer("changes", 2, 0, 100), p.integer("magnitude", 9, 0, kBins - 1),
                                       read_interpolation(p, Interpolation::kNearest));
}

}  // namespace unstarve
