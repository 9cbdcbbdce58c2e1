#pragma once
// Compares the speed of two compiled models on this machine, in interleaved blocks (A B B A ...).
//
// Threads: one. Failure: as EngineProcess; Error(kCancelled) after a stop.

#include <stop_token>

#include "unstarve/core/statistics.h"
#include "unstarve/infer/engines/choose_engine.h"

namespace unstarve {

// A compiled model in its process, with the settings of compile().
struct RunningModel {
  EngineProcess& engine;
  EngineSettings settings;
};

struct EngineComparison {
  RatioInterval speed;       // of `after` relative to `before`: above 1 if it takes less time
  EngineRate before, after;  // the medians of their blocks
};

struct ComparisonEffort {
  double block_s = 0.15;
  int least_pairs = 6;
  int most_pairs = 30;
};

// Stops when the interval of the ratio excludes 1, or is within 1 % of it, or after `most_pairs`.
[[nodiscard]] EngineComparison compare_engines(const RunningModel& before, const RunningModel& after,
                                               const ComparisonEffort& effort = {}, const std::stop_token& stop = {});

}  // namespace unstarve
