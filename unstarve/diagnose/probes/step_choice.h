#pragma once
// The steps of a watched program may be known in several ways; the most exact one counts.
//
// Threads: a pure function. Failure: none.

#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

// `source` of steps that are not known is empty.
struct KnownSteps {
  StepUse marked;                     // by un.step()
  StepUse ranges;                     // of NVTX, in windows
  StepUse stacks;                     // found in recorded stacks
  StepUse period;                     // of what the main thread does
  double throttled_share = 0;         // MachineUse; the periods of a CPU quota are not steps
  const TraceUse* kernels = nullptr;  // null: none were recorded
};

[[nodiscard]] StepUse choose_steps(const KnownSteps& known);

}  // namespace unstarve
