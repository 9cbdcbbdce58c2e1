// The host waits for the accelerator, which then is idle until the host has launched work again.

#include <fmt/format.h>

#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_hidden_syncs(const RunProfile& profile) {
  if (!profile.trace) return std::nullopt;
  const TraceUse& trace = *profile.trace;
  const double idle_s = host_idle(profile).synchronisation_s;
  std::optional<RunFinding> finding =
      lost_time(trace, "the host waits for the accelerator within steps, which then waits for new work", idle_s, 0.03);
  if (!finding) return std::nullopt;
  std::int64_t small_reads = 0;
  for (const CopyUse& copy : trace.copies)
    if (copy.direction == CopyDirection::kToHost) small_reads += copy.tiny;
  finding->evidence = fmt::format(
      "{:.1f} synchronisations and {:.1f} small copies to the host {}; waiting for them leaves all accelerators idle "
      "for {}",
      rate_of(trace, static_cast<double>(trace.runtime.synchronisations.count)),
      rate_of(trace, static_cast<double>(small_reads)), rate_unit(trace), time_of(trace, idle_s));
  finding->changes = {
      "read values rarely: sum results on the accelerator, and read them every 100 steps; no synchronisation within "
      "the step",
      "read values rarely: sum the loss on the accelerator and call .item(), .cpu() or print every 100 steps; remove "
      "torch.cuda.synchronize(), and boolean masks and nonzero(), whose size the host must know",
      "read values rarely: no .numpy() or print of tensors in each step; call train_on_batch with steps_per_execution",
      "read values rarely: no float(), print or block_until_ready() of results in each step"};
  return finding;
}

}  // namespace

const Rule kHiddenSyncs{
    "hidden-syncs",
    "after the host has waited for the accelerator, all accelerators are idle for 3 % of the step; at most "
    "the time that the host waited counts",
    find_hidden_syncs};

}  // namespace unstarve
