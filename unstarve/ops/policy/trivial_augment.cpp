// One random change by a random magnitude: TrivialAugment's wide space, as in torchvision (Müller and Hutter,
// "TrivialAugment: tuning-free yet state-of-the-art data augmentation", 2021).

#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/same_size_operation.h"
#include "unstarve/ops/geometry/warp.h"
#include "unstarve/ops/policy/magnitudes.h"

namespace unstarve {
std::unique_ptr<Operation> make_trivial_augment(const OpParams& params) {
  const Parameters p("trivial_augment", params, {"num_magnitude_bins", "interpolation", "fill"});
  const int bins = read_bins(p);
  const Warping warping = read_warping(p, Interpolation::kNearest);
  return change_operation({.draws = true, .writes_pixels = true}, [=](Frame& frame, Random& random, Scratch& scratch) {
    const auto change = static_cast<Change>(random.below(kRandAugmentChanges));
    const auto bin = static_cast<int>(random.below(static_cast<std::uint32_t>(bins)));
    const double amount = magnitude_at(change, bin, bins, kWideSpace, frame.size());
    change_by(frame, change, with_sign(change, amount, random), warping, scratch);
  });
}

}  // namespace unstarve
