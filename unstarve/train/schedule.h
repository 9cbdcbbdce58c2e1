#pragma once
// The learning rate of a step.
//
// Warm-up: in the first `warmup` of all steps the rate rises linearly from `initial_share` of the peak to the peak
// (one_cycle: by a half cosine from a 25th of the peak, as in torch's OneCycleLR). Afterwards, with x from 0 to less
// than 1 over the remaining steps and f = final_share:
//
//   constant     1
//   linear       f + (1 - f) (1 - x)
//   cosine       f + (1 - f) (1 + cos(pi x)) / 2
//   polynomial   f + (1 - f) (1 - x)^power
//   step         factor^n, where n is the number of `at` that are at most the share of all steps done
//   one_cycle    a half cosine from 1 to 1 / 250,000
//
// Momentum is constant in all of them. Threads: pure.

#include <cstdint>

#include "unstarve/train/settings.h"

namespace unstarve {

// The learning rate at `step` of `total` (0-based). Above zero at every step unless `final_share` and x make it 0.
[[nodiscard]] double scheduled_rate(const TrainSettings& settings, std::int64_t step, std::int64_t total);

}  // namespace unstarve
