#include "unstarve/jobs/bench_plan.h"

#include <algorithm>

namespace unstarve {
RoundPlan::RoundPlan(double seconds, double elapsed_s, double step_s) : seconds_(seconds) {
  const double left = (1 - kFurtherShare) * seconds - elapsed_s;
  rounds_ = static_cast<int>(std::clamp(left / (kLeastRoundSteps * std::max(step_s, 1e-9)), 1.0, double{kBenchRounds}));
}

std::optional<double> RoundPlan::next(double elapsed_s) {
  end_round(elapsed_s);
  if (begun_ == rounds_) return std::nullopt;
  const std::optional<double> planned = begin((1 - kFurtherShare) * seconds_ - elapsed_s, rounds_ - begun_, elapsed_s);
  if (!planned && begun_ == 0) planned_ = 0;  // the first round is measured in any case
  ++begun_;
  return planned_;
}

std::optional<double> RoundPlan::further(double elapsed_s) {
  end_round(elapsed_s);
  if (further_ == kFurtherRounds) return std::nullopt;
  const int left = kFurtherRounds - further_++;
  return begin(seconds_ - elapsed_s, left, elapsed_s);
}

std::optional<double> RoundPlan::begin(double left_s, int rounds, double elapsed_s) {
  begin_s_ = elapsed_s;
  for (; rounds > 0 && !planned_; --rounds)
    if (left_s / rounds > excess_s_) planned_ = left_s / rounds - excess_s_;
  return planned_;
}

void RoundPlan::end_round(double elapsed_s) {
  if (planned_) excess_s_ = std::max(excess_s_, elapsed_s - begin_s_ - *planned_);
  planned_.reset();
}

}  // namespace unstarve
