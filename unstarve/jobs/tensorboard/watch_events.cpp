#include "unstarve/jobs/tensorboard/watch_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/jobs/common/findings.h"
#include "unstarve/jobs/tensorboard/event_file.h"

namespace unstarve {
namespace {

// TensorBoard shows text as Markdown.
std::string findings_markdown(std::span<const RunFinding> findings) {
  if (findings.empty()) return "No known cause of lost time was found.";
  std::string text;
  for (const RunFinding& finding : findings) {
    text += fmt::format("1. **{}** ({}, {:.0f} % of the time)\n    - evidence: {}\n    - change: {}\n", finding.title,
                        finding.rule, 100 * finding.lost, finding.evidence, finding.change);
    if (const std::string gain = gain_text(finding); !gain.empty()) text += "    - gain: " + gain + "\n";
  }
  return text;
}

void write_steps(EventFile& file, const StepUse& steps) {
  constexpr std::size_t kRates = 200;
  const std::size_t joined = std::max<std::size_t>(1, steps.seconds.size() / kRates);
  const auto known = static_cast<std::int64_t>(steps.seconds.size());
  std::int64_t number = std::max(steps.count - known, std::int64_t{1});
  if (steps.seconds.empty() && steps.rate > 0) file.scalar("watch/steps_per_s", 1, steps.rate);  // of a period
  double seconds = 0;
  std::size_t added = 0;
  for (const double each : steps.seconds) {
    file.scalar("watch/step_seconds", number, each);
    seconds += each;
    if (++added == joined) {
      if (seconds > 0) file.scalar("watch/steps_per_s", number, static_cast<double>(added) / seconds);
      added = 0;
      seconds = 0;
    }
    ++number;
  }
}

// Of many steps, means of consecutive ones.
void write_trace(EventFile& file, const TraceUse& trace) {
  constexpr std::size_t kPoints = 1000;
  const std::size_t steps = trace.steps.size(), joined = (steps + kPoints - 1) / kPoints;
  for (std::size_t begin = 0, end = 0; begin < steps; begin = end) {
    end = std::min(begin + joined, steps);
    TraceStep mean;
    for (std::size_t i = begin; i < end; ++i) {
      mean.seconds += trace.steps[i].seconds / static_cast<double>(end - begin);
      for (std::size_t part = 0; part < kStepActivities; ++part)
        mean.parts[part] += trace.steps[i].parts[part] / static_cast<double>(end - begin);
    }
    const auto number = static_cast<std::int64_t>(end);
    file.scalar("trace/step_seconds", number, mean.seconds);
    for (std::size_t part = 0; part < kStepActivities; ++part)
      if (trace.parts[part] > 0)
        file.scalar(fmt::format("trace/{}_seconds", to_string(static_cast<StepActivity>(part))), number,
                    mean.parts[part]);
  }
}

}  // namespace

void write_watch_events(const std::filesystem::path& folder, const RunProfile& profile,
                        std::span<const RunFinding> findings) {
  EventFile file(folder);
  const RunTimeline& timeline = profile.timeline;
  for (std::size_t i = 0; i < points_of(timeline); ++i) {
    const auto second = static_cast<std::int64_t>(std::llround(static_cast<double>(i + 1) * timeline.interval_s));
    file.scalar("watch/cores_main", second, timeline.main[i]);
    file.scalar("watch/cores_loader", second, timeline.loader[i]);
    file.scalar("watch/cores_other", second, timeline.other[i]);
    file.scalar("watch/memory_bytes", second, timeline.resident_bytes[i]);
    file.scalar("watch/storage_bytes_per_s", second, timeline.storage_bytes_per_s[i]);
    if (i < timeline.gpu.size()) file.scalar("watch/gpu_utilisation", second, timeline.gpu[i]);
  }
  write_steps(file, profile.steps);
  const auto end = static_cast<std::int64_t>(std::llround(profile.watching.seconds));
  if (profile.stacks.seconds > 0)
    file.scalar("watch/loader_share", end, share_of(profile.stacks, StackThread::kMain, Activity::kInput));
  if (profile.trace) write_trace(file, *profile.trace);
  const bool watched = !profile.trace || profile.watching.seconds > 0;
  file.text(watched ? "watch/findings" : "trace/findings", end, findings_markdown(findings));
}

}  // namespace unstarve
