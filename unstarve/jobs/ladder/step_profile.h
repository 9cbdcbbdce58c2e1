#pragma once
// Wall times of training steps, and their summary for a Profile.
//
// Threads: pure functions.

#include <cstdint>
#include <vector>

#include "unstarve/core/profile.h"
#include "unstarve/train/trainer.h"

namespace unstarve {

// Wall time of a step's parts, in nanoseconds; on an emulated accelerator compute is the time held, on a GPU all times
// are those of the device.
struct StepParts {
  std::int64_t begin_ns = 0;  // of steady_clock()
  std::int64_t wait_ns = 0;   // for the loader
  std::int64_t copy_ns = 0;   // to the device, as far as the host waits for it; on a GPU all other idle time
  std::int64_t compute_ns = 0;
  StepTimes network;  // compute's parts, when timing is on
  [[nodiscard]] std::int64_t total_ns() const { return wait_ns + copy_ns + compute_ns; }
};

// One row per part that took time: "wait", "copy", "forward", "backward", "optimiser", "compute" (the rest).
[[nodiscard]] std::vector<StepPart> summarise(const std::vector<StepParts>& steps);

// Utilisation over time, at most `points` points. `nominal_step_ns` 0: the measured compute time counts as busy.
[[nodiscard]] std::vector<UtilisationPoint> utilisation_over_time(const std::vector<StepParts>& steps,
                                                                  std::int64_t nominal_step_ns,
                                                                  std::size_t points = 120);

}  // namespace unstarve
