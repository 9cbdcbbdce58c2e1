// Arbitrary bytes as the kernels of a watched process: rejected with Error(kInput), or reduced to parts that sum to the
// analysed time.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>

#include "unstarve/core/error.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/traces/kernel_log_events.h"
#include "unstarve/diagnose/traces/reduce.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace unstarve;
  TraceEvents events(1000);
  try {
    KernelLogFacts facts = read_kernel_log({data, size}, "input", events);
    const StepUse steps = steps_by_ranges(facts);
    if (steps.source.empty() ? !steps.seconds.empty() : !(steps.rate > 0)) std::abort();
    const double times[] = {0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5};
    if (!add_marked_steps(facts, times, events)) (void)add_steps_by_kernels(facts, events);
    const double cost = cost_of_recording(facts, times);
    if (!(cost >= 0 && cost <= 1)) std::abort();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) std::abort();
  }
  RunProfile profile;
  profile.trace = reduce_trace(events);
  const double sum = std::accumulate(profile.trace->parts.begin(), profile.trace->parts.end(), 0.0);
  if (!(std::abs(sum - profile.trace->analysed_s) <= 1e-6 * (1 + sum))) std::abort();
  (void)findings_of(profile);
  return 0;
}
