// AutoAugment as in torchvision: one of 25 pairs of changes, drawn for each image.

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/policy/auto_augment_tables.h"
#include "unstarve/ops/policy/magnitudes.h"

namespace unstarve {
namespace {

class AutoAugment final : public Operation {
 public:
  AutoAugment(const AugmentPolicy& policy, const Warping& warping) : policy_(policy), warping_(warping) {}

  [[nodiscard]] bool random() const override { return true; }
  [[nodiscard]] bool writes_pixels() const override { return true; }
  [[nodiscard]] bool runs_on_gpu() const override { return true; }
  Size output_size(Size selected) const override { return selected; }
  void apply(Frame& frame, Random& random, Scratch& scratch) const override {
    for (const AugmentPart& part : policy_[random.below(static_cast<std::uint32_t>(policy_.size()))]) {
      if (random.uniform() * 10 >= part.tenths) continue;
      const double magnitude = magnitude_at(part.change, part.bin, kAutoAugmentBins, kAugmentSpace, frame.size());
      const bool negative = is_signed(part.change) && random.below(2) == 1;
      change_by(frame, part.change, negative ? -magnitude : magnitude, warping_, scratch);
    }
  }

 private:
  const AugmentPolicy& policy_;
  Warping warping_;
};

std::unique_ptr<Operation> make(const char* name, const AugmentPolicy& policy, const OpParams& params) {
  const Parameters p(name, params, {"interpolation", "fill"});
  return std::make_unique<AutoAugment>(policy, read_warping(p, Interpolation::kNearest));
}

}  // namespace

std::unique_ptr<Operation> make_auto_augment_imagenet(const OpParams& params) {
  return make("auto_augment_imagenet", kImagenetPolicy, params);
}
std::unique_ptr<Operation> make_auto_augment_cifar10(const OpParams& params) {
  return make("auto_augment_cifar10", kCifar10Policy, params);
}
std::unique_ptr<Operation> make_auto_augment_svhn(const OpParams& params) {
  return make("auto_augment_svhn", kSvhnPolicy, params);
}

}  // namespace unstarve
