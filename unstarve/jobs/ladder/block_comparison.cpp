#include "unstarve/jobs/ladder/block_comparison.h"

#include <algorithm>
#include <cmath>

#include "unstarve/core/clock.h"
#include "unstarve/observe/block_bootstrap.h"

namespace unstarve {

double geometric_mean(const std::vector<double>& rates) {
  double logs = 0;
  for (const double rate : rates) logs += std::log(rate);
  return rates.empty() ? 0 : std::exp(logs / static_cast<double>(rates.size()));
}

std::string BlockComparison::with_drift(std::string reason) const {
  if (!pairs_drift(b, a)) return reason;
  if (!reason.empty()) reason += "; ";
  return reason + "the ratio changed from pair to pair: not a steady state, measure longer";
}

double BlockComparison::rate_a() const { return geometric_mean(a); }
double BlockComparison::rate_b() const { return geometric_mean(b); }

MeasuredStep measured_step(const Block& block) {
  const double steps = static_cast<double>(std::max<std::int64_t>(block.steps, 1));
  return {1e-9 * static_cast<double>(block.wall_ns) / steps, 1e-9 * static_cast<double>(block.wait_ns) / steps};
}

// Of steps as large as those of `block`.
double step_ms_at(double samples_per_s, const Block& block) {
  const double samples_per_step =
      static_cast<double>(block.samples) / static_cast<double>(std::max<std::int64_t>(block.steps, 1));
  return samples_per_s > 0 ? 1e3 * samples_per_step / samples_per_s : 0;
}

BlockComparison compare_blocks(const ComparedSide& a, const ComparedSide& b, const ComparisonPlan& plan,
                               LadderRecorder& recorder) {
  const double each = plan.seconds / kMostBlockPairs / 2;
  const double block =
      std::max(kShortestBlock, each - std::max(untimed_time(a.time, each), untimed_time(b.time, each)));
  const double end = seconds_now() + plan.seconds;
  BlockComparison comparison;
  Block all_a, all_b;
  const auto run = [&](Subject& side, std::vector<double>& rates, Block& all, const char* name) {
    const double begin = recorder.elapsed();
    const Block result = side.run(block, 1);
    rates.push_back(result.samples_per_s());
    recorder.add({name, begin, recorder.elapsed() - begin, {{"samples_per_s", rates.back()}}});
    all.wall_ns += result.wall_ns;
    all.steps += result.steps;
    all.samples += result.samples;
    all.wait_ns += result.wait_ns;
  };
  const auto run_a = [&] { run(a.subject, comparison.a, all_a, plan.names[0]); };
  const auto run_b = [&] { run(b.subject, comparison.b, all_b, plan.names[1]); };
  for (int pair = 0; pair < plan.least_pairs || (pair < kMostBlockPairs && seconds_now() < end); ++pair) {
    if (pair % 2 == 0) {
      run_a();
      run_b();
    } else {
      run_b();
      run_a();
    }
  }
  comparison.step_ms_a = step_ms_at(comparison.rate_a(), all_a);
  comparison.step_ms_b = step_ms_at(comparison.rate_b(), all_b);
  comparison.step_b = measured_step(all_b);
  return comparison;
}

}  // namespace unstarve
