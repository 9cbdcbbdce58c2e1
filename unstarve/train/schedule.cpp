#include "unstarve/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace unstarve {
namespace {

// As in torch's OneCycleLR.
constexpr double kOneCycleStart = 1.0 / 25;
constexpr double kOneCycleEnd = kOneCycleStart / 1e4;

// From `from` to `to` as x goes from 0 to 1.
double half_cosine(double from, double to, double x) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * x)) / 2;
}

// The share of the peak after the warm-up. `done`: share of all steps.
double after_warmup(const ScheduleSettings& schedule, double x, double done) {
  const auto down_to_final = [&](double share) { return schedule.final_share + (1 - schedule.final_share) * share; };
  switch (schedule.name) {
    case ScheduleName::kConstant: return 1;
    case ScheduleName::kLinear: return down_to_final(1 - x);
    case ScheduleName::kCosine: return down_to_final(half_cosine(1, 0, x));
    case ScheduleName::kPolynomial: return down_to_final(std::pow(1 - x, schedule.power));
    case ScheduleName::kStep: {
      const auto passed = std::ranges::count_if(schedule.at, [&](double at) { return at <= done; });
      return std::pow(schedule.factor, static_cast<double>(passed));
    }
    case ScheduleName::kOneCycle: return half_cosine(1, kOneCycleEnd, x);
  }
  return 1;
}

}  // namespace

double scheduled_rate(const TrainSettings& settings, std::int64_t step, std::int64_t total) {
  const ScheduleSettings& schedule = settings.schedule;
  total = std::max<std::int64_t>(total, 1);
  step = std::clamp<std::int64_t>(step, 0, total - 1);
  const auto steps = static_cast<double>(total);
  const auto at = static_cast<double>(step);
  const double rising = std::max(1.0, std::round(schedule.warmup * steps));  // the last of them has the peak rate
  if (at < rising) {
    const double x = (at + 1) / rising;
    const double linear = schedule.initial_share + (1 - schedule.initial_share) * x;
    return settings.learning_rate *
           (schedule.name == ScheduleName::kOneCycle ? half_cosine(kOneCycleStart, 1, x) : linear);
  }
  return settings.learning_rate * after_warmup(schedule, (at - rising) / (steps - rising), at / steps);
}

}  // namespace unstarve
