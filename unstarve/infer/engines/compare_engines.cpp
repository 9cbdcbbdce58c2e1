#include "unstarve/infer/engines/compare_engines.h"

#include <vector>

namespace unstarve {
namespace {

// A difference that nobody notices.
constexpr double kIndifferent = 0.01;

struct Blocks {
  std::vector<double> rates, p50_ms, p99_ms;

  // The rate follows from the median, which single delays of a shared machine do not change.
  void add(const EngineRate& rate) {
    p50_ms.push_back(rate.p50_ms);
    p99_ms.push_back(rate.p99_ms);
    rates.push_back(rate.samples_per_s);
  }
  [[nodiscard]] EngineRate summary(const EngineSettings& settings) const {
    return {settings, median(rates), median(p50_ms), median(p99_ms)};
  }
};

bool is_decided(const RatioInterval& speed) {
  return speed.low > 1 || speed.high < 1 || (speed.low > 1 - kIndifferent && speed.high < 1 + kIndifferent);
}

}  // namespace

EngineComparison compare_engines(const RunningModel& before, const RunningModel& after, const ComparisonEffort& effort,
                                 const std::stop_token& stop) {
  Blocks a, b;
  EngineComparison result;
  for (int pair = 0; pair < effort.most_pairs; ++pair) {
    for (const bool first : {true, false}) {
      if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, "compare models: stopped");
      const bool is_before = first == (pair % 2 == 0);
      const RunningModel& model = is_before ? before : after;
      (is_before ? a : b).add(measure_engine(model.engine, model.settings, effort.block_s));
    }
    // Per sample: the settings may have different batches.
    std::vector<double> numerator, denominator;
    for (std::size_t i = 0; i < a.p50_ms.size(); ++i) {
      numerator.push_back(a.p50_ms[i] / before.settings.batch / before.engine.requests());
      denominator.push_back(b.p50_ms[i] / after.settings.batch / after.engine.requests());
    }
    result.speed = ratio_interval(numerator, denominator);
    if (pair + 1 >= effort.least_pairs && is_decided(result.speed)) break;
  }
  result.before = a.summary(before.settings);
  result.after = b.summary(after.settings);
  return result;
}

}  // namespace unstarve
