// Memory of the accelerator is allocated and freed in steps, while it waits.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"
#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_allocations_in_steps(const RunProfile& profile) {
  if (!profile.trace) return std::nullopt;
  const TraceUse& trace = *profile.trace;
  const double lost = share_of(trace, trace.idle.allocation_s);
  if (lost < 0.02) return std::nullopt;
  const CallUse& calls = trace.runtime.allocations;
  RunFinding finding;
  finding.title = "memory of the accelerator is allocated and freed within steps";
  finding.evidence = fmt::format("{:.1f} calls {} that allocate or free; all accelerators are idle for {}",
                                 rate_of(trace, static_cast<double>(calls.count)), rate_unit(trace),
                                 time_of(trace, trace.idle.allocation_s));
  finding.changes = {"",
                     "keep the shapes of batches constant, do not call torch.cuda.empty_cache(), and start with "
                     "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; allocate pinned buffers once",
                     "keep the shapes of batches constant, and start with TF_GPU_ALLOCATOR=cuda_malloc_async",
                     "do not set XLA_PYTHON_CLIENT_PREALLOCATE=false or XLA_PYTHON_CLIENT_ALLOCATOR=platform"};
  finding.lost = lost;
  finding.gain = gain_without(lost);
  return finding;
}

}  // namespace

extern const Rule kAllocationsInSteps;
const Rule kAllocationsInSteps{
    "allocations-in-steps",
    "the host allocates or frees memory of the accelerator for 2 % of the step, while all accelerators are idle",
    find_allocations_in_steps};

}  // namespace unstarve
