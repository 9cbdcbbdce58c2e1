// RandAugment as in torchvision: random changes of one magnitude (Cubuk et al., "RandAugment: practical automated
// data augmentation with a reduced search space", 2019).

#include "unstarve/core/format_error.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/same_size_operation.h"
#include "unstarve/ops/geometry/warp.h"
#include "unstarve/ops/policy/magnitudes.h"

namespace unstarve {
std::unique_ptr<Operation> make_rand_augment(const OpParams& params) {
  const Parameters p("rand_augment", params, {"changes", "magnitude", "num_magnitude_bins", "interpolation", "fill"});
  const int changes = p.integer("changes", 2, 0, 100), magnitude = p.integer("magnitude", 9, 0, kMaxBins - 1);
  const int bins = read_bins(p);
  if (magnitude >= bins)
    throw argument_error(
        "operation rand_augment: parameter 'magnitude' is [{}]; expected 0 to {}, as num_magnitude_bins is {}",
        magnitude, bins - 1, bins);
  const Warping warping = read_warping(p, Interpolation::kNearest);
  return change_operation({.draws = true, .writes_pixels = true}, [=](Frame& frame, Random& random, Scratch& scratch) {
    for (int i = 0; i < changes; ++i) {
      const auto change = static_cast<Change>(random.below(kRandAugmentChanges));
      const double amount = magnitude_at(change, magnitude, bins, kAugmentSpace, frame.size());
      change_by(frame, change, with_sign(change, amount, random), warping, scratch);
    }
  });
}

}  // namespace unstarve
