// Host and accelerator access the same pages of unified memory in turn, so that the driver moves them in every step.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_unified_memory(const TraceUse& trace) {
  const UnifiedMemoryUse& unified = trace.unified;
  CopyUse to_host;
  double moved = 0;
  for (const CopyUse& copy : trace.copies) {
    if (copy.host_memory != MemoryKind::kManaged) continue;
    moved += static_cast<double>(copy.bytes);
    if (copy.direction == CopyDirection::kToHost) to_host = copy;
  }
  // Faults of the host have no duration: it waits while the driver copies the pages. Pages that the program prefetches
  // cause no faults.
  const double host = unified.cpu_faults > 0 ? std::max(exposed_s(trace, to_host), 0.0) : 0;
  std::optional<RunFinding> finding = lost_time(
      trace, "host and accelerator access the same pages of unified memory in turn", unified.stalled_s + host, 0.02);
  if (!finding) return std::nullopt;
  finding->evidence = fmt::format(
      "{:.1f} page faults of the accelerator and {:.1f} of the host {}; kernels wait for pages for {}, the host "
      "for {}; {:.1f} MB of pages {} are moved{}",
      rate_of(trace, static_cast<double>(unified.gpu_faults)), rate_of(trace, static_cast<double>(unified.cpu_faults)),
      rate_unit(trace), time_of(trace, unified.stalled_s), time_of(trace, host), 1e-6 * rate_of(trace, moved),
      rate_unit(trace),
      unified.thrashing > 0 ? fmt::format("; the driver reported page thrashing {} times", unified.thrashing) : "");
  const char* const general =
      "allocate on the accelerator and copy from pinned memory; or move pages before they are needed "
      "(cudaMemPrefetchAsync), and describe their use to the driver (cudaMemAdvise)";
  finding->changes = {general,
                      "use tensors on the device and DataLoader(pin_memory=True) instead of an allocator with unified "
                      "memory (RMM with managed_memory=True, CUDAPluggableAllocator with cudaMallocManaged)",
                      "do not set per_process_gpu_memory_fraction above 1 or use_unified_memory; use smaller batches",
                      "do not set TF_FORCE_UNIFIED_MEMORY=1 with XLA_PYTHON_CLIENT_MEM_FRACTION above 1; use smaller "
                      "batches",
                      general};
  return finding;
}

}  // namespace

const Rule kUnifiedMemory{"unified-memory",
                          "kernels wait for page faults of unified memory, or the host waits for pages that it shares "
                          "with the accelerator, for 2 % of the step",
                          of_trace<find_unified_memory>};

}  // namespace unstarve
