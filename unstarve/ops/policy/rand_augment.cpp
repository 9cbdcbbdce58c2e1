// RandAugment as in torchvision: random changes of one magnitude (Cubuk et al., "RandAugment: practical automated
// data augmentation with a reduced search space", 2019).

#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/policy/magnitudes.h"

namespace unstarve {
namespace {

class RandAugment final : public Operation {
 public:
  RandAugment(int changes, int magnitude, int bins, const Warping& warping)
      : changes_(changes), magnitude_(magnitude), bins_(bins), warping_(warping) {}

  [[nodiscard]] bool random() const override { return true; }
  [[nodiscard]] bool writes_pixels() const override { return true; }
  [[nodiscard]] bool runs_on_gpu() const override { return true; }
  Size output_size(Size selected) const override { return selected; }
  void apply(Frame& frame, Random& random, Scratch& scratch) const override {
    for (int i = 0; i < changes_; ++i) {
      const auto change = static_cast<Change>(random.below(kRandAugmentChanges));
      const double magnitude = magnitude_at(change, magnitude_, bins_, kAugmentSpace, frame.size());
      const bool negative = is_signed(change) && random.below(2) == 1;
      change_by(frame, change, negative ? -magnitude : magnitude, warping_, scratch);
    }
  }

 private:
  int changes_, magnitude_, bins_;
  Warping warping_;
};

}  // namespace

std::unique_ptr<Operation> make_rand_augment(const OpParams& params) {
  const Parameters p("rand_augment", params, {"changes", "magnitude", "num_magnitude_bins", "interpolation", "fill"});
  const int changes = p.integer("changes", 2, 0, 100), magnitude = p.integer("magnitude", 9, 0, kMaxBins - 1);
  const int bins = read_bins(p);
  if (magnitude >= bins)
    throw Error(
        ErrorKind::kArgument,
        fmt::format("operation rand_augment: parameter 'magnitude' is [{}]; expected 0 to {}, as num_magnitude_bins "
                    "is {}",
                    magnitude, bins - 1, bins));
  return std::make_unique<RandAugment>(changes, magnitude, bins, read_warping(p, Interpolation::kNearest));
}

}  // namespace unstarve
