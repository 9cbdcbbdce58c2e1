// Memory of the accelerator is allocated and freed in steps, while it waits.

#include <fmt/format.h>

#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_allocations_in_steps(const TraceUse& trace) {
  std::optional<RunFinding> finding =
      lost_time(trace, "memory of the accelerator is allocated and freed within steps", trace.idle.allocation_s, 0.02);
  if (!finding) return std::nullopt;
  const CallUse& calls = trace.runtime.allocations;
  finding->evidence = fmt::format("{:.1f} calls {} that allocate or free; all accelerators are idle for {}",
                                  rate_of(trace, static_cast<double>(calls.count)), rate_unit(trace),
                                  time_of(trace, trace.idle.allocation_s));
  finding->changes = {"keep the shapes of batches constant, and allocate buffers once, before the steps",
                      "keep the shapes of batches constant, do not call torch.cuda.empty_cache(), and start with "
                      "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; allocate pinned buffers once",
                      "keep the shapes of batches constant, and start with TF_GPU_ALLOCATOR=cuda_malloc_async",
                      "do not set XLA_PYTHON_CLIENT_PREALLOCATE=false or XLA_PYTHON_CLIENT_ALLOCATOR=platform"};
  return finding;
}

}  // namespace

const Rule kAllocationsInSteps{
    "allocations-in-steps",
    "the host allocates or frees memory of the accelerator for 2 % of the step, while all accelerators are idle",
    of_trace<find_allocations_in_steps>};

}  // namespace unstarve
