// Some steps take much longer than the others.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/profile/long_steps.h"
#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

constexpr double kOutlier = 1.5;  // times the median
constexpr std::size_t kFewestForOutliers = 8;

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
  std::vector<double> seconds;
  for (const TraceStep& step : trace.steps) seconds.push_back(step.seconds);
  const LongSteps outliers = long_steps(seconds, kOutlier);
  std::optional<RunFinding> finding =
      lost_time(trace, "some steps take much longer than the others", outliers.excess_s, 0.05);
  if (!finding) return std::nullopt;
  const std::size_t number = outliers.indexes.size();
  finding->evidence =
      fmt::format("{} of {} steps {} more than {} times the median of {:.1f} ms{}; the part that is longer: {}", number,
                  trace.steps.size(), number == 1 ? "takes" : "take", kOutlier, 1e3 * outliers.median_s,
                  outliers.period > 0 ? fmt::format(", one in {}", outliers.period) : "",
                  to_string(longer_part(trace, outliers.indexes)));
  finding->change =
      outliers.period > 0
          ? "find what runs at this period: logging, evaluation, checkpoints, Python's garbage collector (call "
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
