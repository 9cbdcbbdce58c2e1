// AutoAugment as in torchvision: one of 25 pairs of changes, drawn for each image.

#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/same_size_operation.h"
#include "unstarve/ops/geometry/warp.h"
#include "unstarve/ops/policy/auto_augment_tables.h"
#include "unstarve/ops/policy/magnitudes.h"

namespace unstarve {
namespace {

std::unique_ptr<Operation> make(const char* name, const AugmentPolicy& policy, const OpParams& params) {
  const Parameters p(name, params, {"interpolation", "fill"});
  const Warping warping = read_warping(p, Interpolation::kNearest);
  return change_operation(
      {.draws = true, .writes_pixels = true}, [=, &policy](Frame& frame, Random& random, Scratch& scratch) {
        for (const AugmentPart& part : policy[random.below(static_cast<std::uint32_t>(policy.size()))]) {
          if (random.uniform() * 10 >= part.tenths) continue;
          const double amount = magnitude_at(part.change, part.bin, kAutoAugmentBins, kAugmentSpace, frame.size());
          change_by(frame, part.change, with_sign(part.change, amount, random), warping, scratch);
        }
      });
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
