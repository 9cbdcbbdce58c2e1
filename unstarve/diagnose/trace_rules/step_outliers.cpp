// Some steps take much longer than the others.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

constexpr double kOutlier = 1.5;  // times the median
constexpr std::size_t kFewestForOutliers = 8;

// Whether the indexes have the same distance, for example those of checkpoints.
bool are_periodic(const std::vector<std::size_t>& steps) {
  if (steps.size() < 3 || steps[1] == steps[0] + 1) return false;
  for (std::size_t i = 2; i < steps.size(); ++i)
    if (steps[i] - steps[i - 1] != steps[1] - steps[0]) return false;
  return true;
}

// The part of a step that differs most between two sets of steps, per step.
StepActivity longer_part(const TraceUse& trace, const std::vector<std::size_t>& outliers) {
  PartSeconds differences{};
  const double others = static_cast<double>(trace.steps.size() - outliers.size());
  for (std::size_t part = 0; part < kStepActivities; ++part) {
    double in_outliers = 0;
    for (const std::size_t step : outliers) in_outliers += trace.steps[step].parts[part];
    differences[part] =
        in_outliers / static_cast<double>(outliers.size()) - (trace.parts[part] - in_outliers) / std::max(others, 1.0);
  }
  const auto most = std::ranges::max_element(differences);
  return static_cast<StepActivity>(most - differences.begin());
}

std::optional<RunFinding> find_step_outliers(const TraceUse& trace) {
  if (trace.steps.size() < kFewestForOutliers) return std::nullopt;
  const double median = median_step_s(trace);
  std::vector<std::size_t> outliers;
  double excess = 0;
  for (std::size_t i = 0; i < trace.steps.size(); ++i) {
    if (trace.steps[i].seconds <= kOutlier * median) continue;
    outliers.push_back(i);
    excess += trace.steps[i].seconds - median;
  }
  std::optional<RunFinding> finding = lost_time(trace, "some steps take much longer than the others", excess, 0.05);
  if (!finding) return std::nullopt;
  const bool periodic = are_periodic(outliers);
  finding->evidence = fmt::format(
      "{} of {} steps {} more than {} times the median of {:.1f} ms{}; the part that is longer: {}", outliers.size(),
      trace.steps.size(), outliers.size() == 1 ? "takes" : "take", kOutlier, 1e3 * median,
      periodic ? fmt::format(", one in {}", outliers[1] - outliers[0]) : "", to_string(longer_part(trace, outliers)));
  finding->change =
      periodic ? "find what runs at this period: logging, evaluation, checkpoints, Python's garbage collector (call "
                 "gc.freeze() before training, and gc.collect() at a fixed interval)"
               : "find what differs in these steps: batches of other shapes (compilation, allocation), a slow sample, "
                 "other programs on the machine (unstarve watch)";
  return finding;
}

}  // namespace

const Rule kStepOutliers{"step-outliers",
                         "of 8 or more steps, those longer than 1.5 times the median exceed it by 5 % of all time",
                         of_trace<find_step_outliers>};

}  // namespace unstarve
