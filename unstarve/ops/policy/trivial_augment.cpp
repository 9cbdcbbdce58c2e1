// One random change by a random magnitude: TrivialAugment's wide space, as in torchvision (Müller and Hutter,
// "TrivialAugment: tuning-free yet state-of-the-art data augmentation", 2021).

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/policy/magnitudes.h"

namespace unstarve {
namespace {

class TrivialAugment final : public Operation {
 public:
  TrivialAugment(int bins, const Warping& warping) : bins_(bins), warping_(warping) {}

  [[nodiscard]] bool random() const override { return true; }
  [[nodiscard]] bool writes_pixels() const override { return true; }
  [[nodiscard]] bool runs_on_gpu() const override { return true; }
  Size output_size(Size selected) const override { return selected; }
  void apply(Frame& frame, Random& random, Scratch& scratch) const override {
    const auto change = static_cast<Change>(random.below(kRandAugmentChanges));
    const auto bin = static_cast<int>(random.below(static_cast<std::uint32_t>(bins_)));
    const double magnitude = magnitude_at(change, bin, bins_, kWideSpace, frame.size());
    const bool negative = is_signed(change) && random.below(2) == 1;
    change_by(frame, change, negative ? -magnitude : magnitude, warping_, scratch);
  }

 private:
  int bins_;
  Warping warping_;
};

}  // namespace

std::unique_ptr<Operation> make_trivial_augment(const OpParams& params) {
  const Parameters p("trivial_augment", params, {"num_magnitude_bins", "interpolation", "fill"});
  return std::make_unique<TrivialAugment>(read_bins(p), read_warping(p, Interpolation::kNearest));
}

}  // namespace unstarve
