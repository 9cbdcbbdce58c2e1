#include "unstarve/jobs/ladder/run_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double highest(std::span<const EvaluationPoint> evaluations) {
  double accuracy = 0;
  for (const EvaluationPoint& point : evaluations) accuracy = std::max(accuracy, point.accuracy);
  return accuracy;
}

}  // namespace

std::optional<double> seconds_to(double accuracy, std::span<const EvaluationPoint> evaluations) {
  EvaluationPoint last;
  for (const EvaluationPoint& point : evaluations) {
    if (point.accuracy >= accuracy) {
      const double rise = point.accuracy - last.accuracy;
      const double share = rise > 0 ? (accuracy - last.accuracy) / rise : 0;
      return last.training_seconds + share * (point.training_seconds - last.training_seconds);
    }
    last = point;
  }
  return std::nullopt;
}

TimesToAccuracy times_to_accuracy(std::span<const EvaluationPoint> before, std::span<const EvaluationPoint> after) {
  const double accuracy = std::min(highest(before), highest(after));
  if (accuracy <= 0)
    throw Error(ErrorKind::kCheck, "time to accuracy: found an accuracy of 0; expected more. Train for more --epochs");
  return {accuracy, seconds_to(accuracy, before).value(), seconds_to(accuracy, after).value()};
}

void compare_by_accuracy(const Settings& before, const Settings& after, const TrainRun& train,
                         const std::function<void(std::string_view what)>& report, LedgerEntry& entry) {
  std::vector<double> before_s, after_s;
  double accuracy = 0, seconds = 0, samples = 0, steps = 0;
  const auto run = [&](Settings settings, std::uint64_t pair) {
    settings.train.seed += pair;
    settings.pipeline.order.seed += pair;
    return train(settings);
  };
  for (std::uint64_t pair = 0; pair < kMinPairs; ++pair) {
    report(fmt::format("{}: runs {} and {} of {}", entry.name, 2 * pair + 1, 2 * pair + 2, 2 * kMinPairs));
    TrainHistory a, b;
    if (pair % 2 == 0) a = run(before, pair);
    b = run(after, pair);
    if (pair % 2 == 1) a = run(before, pair);
    const TimesToAccuracy times = times_to_accuracy(a.evaluations, b.evaluations);
    before_s.push_back(times.before_s);
    after_s.push_back(times.after_s);
    accuracy += times.accuracy / kMinPairs;
    seconds += b.evaluations.back().training_seconds;
    samples += static_cast<double>(b.samples);
    steps += static_cast<double>(b.steps);
  }
  entry.ratio = ratio_interval(before_s, after_s);
  entry.verdict = judge(entry.ratio);
  entry.samples_per_s = samples / seconds;
  entry.step_ms = 1e3 * seconds / steps;
  entry.reason = fmt::format("{:.1f} % accuracy after {:.3g} s of training, {:.3g} s without (means of {} runs)",
                             100 * accuracy, mean(after_s), mean(before_s), kMinPairs);
}

}  // namespace unstarve
