#include "unstarve/jobs/model_chart/engine_rounds.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "unstarve/core/error.h"

namespace unstarve {

std::vector<EngineRounds> time_in_rounds(std::span<TimedEngine> engines, const RoundOptions& options) {
  std::vector<EngineRounds> all(engines.size());
  std::vector<std::size_t> order(engines.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const double slots = static_cast<double>(kEngineRounds) * static_cast<double>(std::max<std::size_t>(1, order.size()));
  std::minstd_rand numbers(1);
  double done = 0;
  for (int round = 0; round < kEngineRounds; ++round) {
    std::shuffle(order.begin(), order.end(), numbers);
    for (const std::size_t i : order) {
      if (options.stop.stop_requested()) throw Error(ErrorKind::kCancelled, "measure engines: stopped");
      if (options.progress) options.progress(done++ / slots);
      if (!engines[i]) continue;
      try {
        all[i].rounds.push_back(time_engine(*engines[i], options.seconds / slots));
      } catch (const Error& error) {
        all[i].failure = error.what();
        engines[i].reset();
      }
    }
  }
  return all;
}

LatencySummary summarise_latency(std::span<const EngineTimes> rounds) {
  LatencySummary summary;
  std::vector<double> pooled;
  for (const EngineTimes& round : rounds) {
    summary.rounds_ms.push_back(median(round.batches_ms));
    pooled.insert(pooled.end(), round.batches_ms.begin(), round.batches_ms.end());
  }
  summary.p50_ms = median(pooled);
  summary.p99_ms = quantile(pooled, 0.99);
  summary.median_ms = median_interval(summary.rounds_ms);
  summary.batches = pooled.size();
  return summary;
}

RateSummary summarise_rate(std::span<const EngineTimes> rounds) {
  std::vector<double> rates;
  for (const EngineTimes& round : rounds) rates.push_back(static_cast<double>(round.batches_ms.size()) / round.seconds);
  return {median(rates), median_interval(rates)};
}

}  // namespace unstarve
