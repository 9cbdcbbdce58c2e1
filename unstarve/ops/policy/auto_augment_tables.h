#pragma once
// AutoAugment's pairs of changes with probabilities and magnitudes, found by search for a dataset
// (Cubuk et al., "AutoAugment: learning augmentation policies from data", 2018, tables of the appendix). Private to
// policy.
//
// Threads: constants.

#include <array>

#include "unstarve/ops/policy/magnitudes.h"

namespace unstarve {

inline constexpr int kAutoAugmentBins = 10;

struct AugmentPart {
  Change change;
  int tenths;  // probability in tenths
  int bin;     // of kAutoAugmentBins
};
using AugmentPolicy = std::array<std::array<AugmentPart, 2>, 25>;

extern const AugmentPolicy kImagenetPolicy, kCifar10Policy, kSvhnPolicy;

}  // namespace unstarve
