// Many small copies, each with the cost of a call.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_tiny_copies(const RunProfile& profile) {
  if (!profile.trace || profile.trace->steps.empty()) return std::nullopt;
  const TraceUse& trace = *profile.trace;
  std::int64_t tiny = 0, all = 0;
  for (const CopyUse& copy : trace.copies) {
    all += copy.count;
    if (copy.direction == CopyDirection::kToDevice || copy.direction == CopyDirection::kToHost) tiny += copy.tiny;
  }
  const double count = per_step(trace, static_cast<double>(tiny));
  if (count < 20) return std::nullopt;
  const CallUse calls = trace.runtime.copies;
  const double seconds = calls.seconds * static_cast<double>(tiny) / static_cast<double>(all);
  // Calls cost nothing while the accelerator has work.
  const HostIdle idle = host_idle(profile);
  std::optional<RunFinding> finding = lost_time(trace, "many small copies between host and accelerator",
                                                std::min(seconds, idle.launch_s + idle.synchronisation_s), 0.02);
  if (!finding) return std::nullopt;
  finding->evidence =
      fmt::format("{:.0f} copies of at most 64 KiB per step; their calls take {}", count, time_of(trace, seconds));
  finding->change =
      "collect small values on the host into one tensor and copy it once per step; keep constants (masks, indexes, "
      "means) on the accelerator";
  return finding;
}

}  // namespace

const Rule kTinyCopies{"tiny-copies",
                       "20 copies of at most 64 KiB per step between host and accelerator, whose calls take 2 % of the "
                       "step while all accelerators are idle",
                       find_tiny_copies};

}  // namespace unstarve
