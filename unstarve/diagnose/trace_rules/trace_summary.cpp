#include "unstarve/diagnose/trace_rules/trace_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/summary.h"
#include "unstarve/observe/block_bootstrap.h"

namespace unstarve {
namespace {

std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", 1e6 * seconds);
  return seconds < 1 ? fmt::format("{:.1f} ms", 1e3 * seconds) : fmt::format("{:.2f} s", seconds);
}

// Half of the 95 % interval of the logarithm of sum(a) / sum(b), of pairs that vary together: by block bootstrap of the
// linearised ratio, whose relative residuals have the mean 0. They are scaled to positive numbers near 1.
double log_error_of_ratio(const std::vector<double>& a, const std::vector<double>& b) {
  const double sum_a = std::accumulate(a.begin(), a.end(), 0.0), sum_b = std::accumulate(b.begin(), b.end(), 0.0);
  const auto n = static_cast<double>(a.size());
  std::vector<double> residuals;
  for (std::size_t i = 0; i < a.size(); ++i) residuals.push_back(n * (a[i] / sum_a - b[i] / sum_b));
  double largest = 0;
  for (const double residual : residuals) largest = std::max(largest, std::abs(residual));
  if (largest < 1e-9) return 0;
  const double scale = 0.1 / largest;
  for (double& residual : residuals) residual = 1 + scale * residual;
  const RatioInterval interval = ratio_of_rates(std::vector<double>(a.size(), 1.0), residuals);
  return 0.5 * std::log(interval.high / interval.low) / scale;
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

GainPrediction gain_without_part(const TraceUse& trace, StepActivity part, double seconds) {
  constexpr std::size_t kFewest = 8, kMost = 1000;  // values; of more steps, means of consecutive ones
  const GainPrediction gain = gain_without(share_of(trace, seconds));
  const std::size_t group = (trace.steps.size() + kMost - 1) / kMost;
  if (trace.steps.size() < kFewest || trace.steps.size() / group < kFewest) return gain;
  double sum = 0;
  for (const TraceStep& step : trace.steps) sum += step.parts[static_cast<std::size_t>(part)];
  if (sum <= 0 || seconds > sum * (1 + 1e-6)) return gain;  // time that the parts do not show
  std::vector<double> now, rest;
  for (std::size_t i = 0; i + group <= trace.steps.size(); i += group) {
    double all_s = 0, rest_s = 0;
    for (std::size_t j = i; j < i + group; ++j) {
      const TraceStep& step = trace.steps[j];
      all_s += step.seconds;
      rest_s += step.seconds - step.parts[static_cast<std::size_t>(part)] * seconds / sum;
    }
    if (rest_s <= 0) return gain;
    now.push_back(all_s);
    rest.push_back(rest_s);
  }
  const double half = log_error_of_ratio(now, rest);
  return {gain.gain, std::max(gain.gain * std::exp(-half), 1.0), gain.gain * std::exp(half)};
}

HostIdle host_idle(const RunProfile& profile) {
  if (!profile.trace) return {};
  const TraceUse& trace = *profile.trace;
  const HostIdle all{trace.idle.launch_s, trace.idle.synchronisation_s};
  if (trace.format != "CUPTI") return all;
  if (profile.stacks.seconds <= 0) return loader_limits(profile) ? HostIdle{} : all;
  double known = std::max(input_share(profile), 0.0);
  for (const Activity activity : {Activity::kCheckpoint, Activity::kLogging})
    known += share_of(profile.stacks, StackThread::kMain, activity);
  const double known_s = known * trace.analysed_s, rest_s = std::max(known_s - all.launch_s, 0.0);
  return {std::max(all.launch_s - known_s, 0.0), std::max(all.synchronisation_s - rest_s, 0.0)};
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
