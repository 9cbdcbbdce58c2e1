#include "unstarve/diagnose/rules/program/stall.h"

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {

std::optional<RunFinding> find_stall(const RunProfile& profile, const Stall& stall, double share) {
  if (share < stall.threshold) return std::nullopt;
  RunFinding finding;
  finding.title = stall.title;
  finding.evidence = fmt::format("the main thread does this for {:.0f} % of the time", 100 * share);
  HotLine line = caller_of(profile.stacks, StackThread::kMain, stall.activity);
  if (line.share <= 0) line = stall.otherwise;
  if (line.share > 0) finding.evidence += fmt::format(", called at {}", to_string(line.line));
  finding.changes = stall.changes;
  finding.gain = gain_without(share, profile.stacks.seconds > 0 ? profile.stacks.seconds : steady_seconds(profile));
  finding.lost = share;
  return finding;
}

double main_stall_share(const RunProfile& profile, Activity activity, double least, bool flushes) {
  return std::min(stall_share(profile.stacks, activity, least, flushes), 1.0);
}

}  // namespace unstarve
