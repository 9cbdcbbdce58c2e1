#pragma once
// Times several engines in interleaved rounds: in each round every engine runs for a short time, in a new random order,
// so that a slow phase of the machine affects all engines alike.
//
//   round 1: A C B    round 2: B A C    ...
//
// Idle engines do not use the CPU. Inputs are random numbers.
// Threads: one. Failure: Error(kCancelled); an engine that fails or crashes ends, with the reason in its times.

#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "unstarve/core/statistics.h"
#include "unstarve/infer/engines/choose_engine.h"

namespace unstarve {

// 9 rounds: the 95 % interval of their median then leaves out the slowest and the fastest one.
inline constexpr int kEngineRounds = 9;

struct RoundOptions {
  double seconds = 10;  // of all engines together; each runs at least one batch of every request in every round
  std::stop_token stop{};
  std::function<void(double share)> progress{};
};

struct EngineRounds {
  std::vector<EngineTimes> rounds;
  std::string failure;  // "": none
};

// A compiled engine; null: left out.
using TimedEngine = std::unique_ptr<EngineProcess>;

// One entry for each engine. Engines that fail become null.
[[nodiscard]] std::vector<EngineRounds> time_in_rounds(std::span<TimedEngine> engines, const RoundOptions& options);

// Milliseconds per batch.
struct LatencySummary {
  double p50_ms = 0, p99_ms = 0;  // of the batches of all rounds
  ConfidenceInterval median_ms;   // 95 % interval, from the medians of the rounds
  std::vector<double> rounds_ms;  // medians of the rounds
  std::size_t batches = 0;
};
// Batches per second.
struct RateSummary {
  double per_s = 0;           // the median of the rounds
  ConfidenceInterval median;  // its 95 % interval
};

// Precondition: at least one round.
[[nodiscard]] LatencySummary summarise_latency(std::span<const EngineTimes> rounds);
[[nodiscard]] RateSummary summarise_rate(std::span<const EngineTimes> rounds);

}  // namespace unstarve
