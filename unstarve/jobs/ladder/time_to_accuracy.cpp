#include "unstarve/jobs/ladder/time_to_accuracy.h"

#include <algorithm>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

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

}  // namespace unstarve
