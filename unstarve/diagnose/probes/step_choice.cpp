#include "unstarve/diagnose/probes/step_choice.h"

#include <algorithm>
#include <cstddef>

namespace unstarve {
namespace {

constexpr double kThrottled = 0.02;  // share of the periods of a CPU quota in which tasks were stopped

// Ranges mark steps exactly, but only in windows: steps that fill them are better known by the stacks.
const StepUse& more_exact(const StepUse& ranges, const StepUse& stacks) {
  constexpr std::size_t kEnough = 8;
  return ranges.seconds.size() >= kEnough || stacks.source.empty() ? ranges : stacks;
}

// Of the windows in which kernels were recorded.
StepUse steps_of_kernels(const TraceUse& trace) {
  constexpr std::size_t kMost = 2048;
  StepUse steps;
  if (trace.steps.empty() || trace.analysed_s <= 0) return steps;
  steps.source = "the sequence of kernels";
  steps.rate = static_cast<double>(trace.steps.size()) / trace.analysed_s;
  for (std::size_t i = trace.steps.size() - std::min(trace.steps.size(), kMost); i < trace.steps.size(); ++i)
    steps.seconds.push_back(trace.steps[i].seconds);
  return steps;
}

}  // namespace

StepUse choose_steps(const KnownSteps& known) {
  StepUse steps = known.marked;
  if (steps.source.empty()) steps = more_exact(known.ranges, known.stacks);
  if (steps.source.empty() && known.throttled_share < kThrottled) steps = known.period;
  // Single steps are better than a period.
  if (steps.seconds.empty() && known.kernels != nullptr && !is_disturbed(*known.kernels)) {
    StepUse of_kernels = steps_of_kernels(*known.kernels);
    if (!of_kernels.source.empty()) return of_kernels;
  }
  return steps;
}

}  // namespace unstarve
