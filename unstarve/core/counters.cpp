#include "unstarve/core/counters.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "unstarve/core/error.h"

namespace unstarve {

StageCounters::StageCounters(std::vector<std::string> stages, int workers)
    : names_(std::move(stages)), workers_(workers > 0 ? static_cast<std::size_t>(workers) : 0) {
  if (names_.empty() || names_.size() > kMaxStages || workers < 1) {
    throw Error(ErrorKind::kArgument,
                fmt::format("stage counters: {} stages and {} workers, expected 1 to {} stages and "
                            "at least one worker",
                            names_.size(), workers, kMaxStages));
  }
}

StageCounters::Worker& StageCounters::worker(int index) {
  if (index < 0 || static_cast<std::size_t>(index) >= workers_.size()) {
    throw Error(ErrorKind::kArgument, fmt::format("stage counters: worker {} of {}", index, workers_.size()));
  }
  return workers_[static_cast<std::size_t>(index)];
}

std::vector<StageProfile> StageCounters::sum() const {
  std::vector<StageProfile> profiles;
  for (std::size_t stage = 0; stage < names_.size(); ++stage) {
    StageProfile profile{names_[stage], 0, 0, 0};
    std::int64_t timed_samples = 0, timed_ns = 0;
    for (const Worker& worker : workers_) {
      const Worker::Stage& counters = worker.stages_[stage];
      profile.samples += counters.samples.load(std::memory_order_relaxed);
      profile.bytes += counters.bytes.load(std::memory_order_relaxed);
      timed_samples += counters.timed_samples.load(std::memory_order_relaxed);
      timed_ns += counters.timed_ns.load(std::memory_order_relaxed);
    }
    if (timed_samples > 0) {
      profile.busy_ns = std::llround(static_cast<double>(timed_ns) / static_cast<double>(timed_samples) *
                                     static_cast<double>(profile.samples));
    }
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

}  // namespace unstarve
