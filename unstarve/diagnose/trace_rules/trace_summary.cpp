#include "unstarve/diagnose/trace_rules/trace_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", 1e6 * seconds);
  return seconds < 1 ? fmt::format("{:.1f} ms", 1e3 * seconds) : fmt::format("{:.2f} s", seconds);
}

}  // namespace

double share_of(const TraceUse& trace, double seconds) {
  return trace.analysed_s > 0 ? std::clamp(seconds / trace.analysed_s, 0.0, 1.0) : 0;
}

std::optional<RunFinding> lost_time(const TraceUse& trace, const char* title, double seconds, double least) {
  RunFinding finding;
  finding.title = title;
  finding.lost = share_of(trace, seconds);
  finding.gain = gain_without(finding.lost);
  return finding.lost < least ? std::nullopt : std::optional(std::move(finding));
}

double launch_idle_s(const RunProfile& profile) {
  if (!profile.trace) return 0;
  const TraceUse& trace = *profile.trace;
  if (trace.format != "CUPTI") return trace.idle.launch_s;
  if (profile.stacks.seconds <= 0) return loader_limits(profile) ? 0 : trace.idle.launch_s;
  double known = std::max(input_share(profile), 0.0);
  for (const Activity activity : {Activity::kCheckpoint, Activity::kLogging})
    known += share_of(profile.stacks, StackThread::kMain, activity);
  return std::max(trace.idle.launch_s - known * trace.analysed_s, 0.0);
}

double per_step(const TraceUse& trace, double count) {
  return trace.steps.empty() ? count : count / static_cast<double>(trace.steps.size());
}

double rate_of(const TraceUse& trace, double count) {
  if (!trace.steps.empty()) return per_step(trace, count);
  return trace.analysed_s > 0 ? count / trace.analysed_s : 0;
}

std::string time_of(const TraceUse& trace, double seconds) {
  return fmt::format("{} of {}{} ({:.0f} %)", duration(per_step(trace, seconds)),
                     trace.steps.empty() ? "" : "a step of ", duration(per_step(trace, trace.analysed_s)),
                     100 * share_of(trace, seconds));
}

const char* while_idle(const TraceUse& trace) {
  return trace.devices.empty() ? "" : " in which all accelerators are idle";
}

CopyUse copies_of(const TraceUse& trace, CopyDirection direction, bool pageable) {
  CopyUse sum;
  sum.direction = direction;
  for (const CopyUse& copy : trace.copies) {
    if (copy.direction != direction || (copy.host_memory == MemoryKind::kPageable) != pageable) continue;
    sum.count += copy.count;
    sum.tiny += copy.tiny;
    sum.bytes += copy.bytes;
    sum.seconds += copy.seconds;
    sum.overlapped_s += copy.overlapped_s;
  }
  return sum;
}

double exposed_s(const TraceUse& trace, const CopyUse& copies) {
  return std::min(copies.seconds - copies.overlapped_s, trace.parts[static_cast<std::size_t>(StepActivity::kCopy)]);
}

}  // namespace unstarve
