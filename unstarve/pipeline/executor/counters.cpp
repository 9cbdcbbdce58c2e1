#include "unstarve/pipeline/executor/counters.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "unstarve/core/format_error.h"

namespace unstarve {

StageCounters::StageCounters(std::vector<std::string> stages, int workers)
    : names_(std::move(stages)), workers_(workers > 0 ? static_cast<std::size_t>(workers) : 0) {
  if (names_.empty() || names_.size() > kMaxStages || workers < 1) {
    throw argument_error("stage counters: {} stages and {} workers; expected 1 to {} stages and at least one worker",
                         names_.size(), workers, kMaxStages);
  }
}

StageCounters::Worker& StageCounters::worker(int index) {
  if (index < 0 || static_cast<std::size_t>(index) >= workers_.size()) {
    throw argument_error("stage counters: worker {} of {}", index, workers_.size());
  }
  return workers_[static_cast<std::size_t>(index)];
}

StageCounters::Totals StageCounters::totals() const {
  Totals totals;
  const auto add = [](auto& into, const auto& counter) { into += counter.load(std::memory_order_relaxed); };
  for (const Worker& worker : workers_) {
    for (std::size_t stage = 0; stage < names_.size(); ++stage) {
      const Worker::Stage& from = worker.stages_[stage];
      Totals::Stage& into = totals.stages[stage];
      add(into.samples, from.samples);
      add(into.bytes, from.bytes);
      add(into.timed_samples, from.timed_samples);
      add(into.timed_ns, from.timed_ns);
      add(into.both_ns, from.both_ns);
      add(into.cpu_ns, from.cpu_ns);
      add(into.squares_us2, from.squares_us2);
    }
    add(totals.run_delay_ns, worker.run_delay_ns_);
    add(totals.watched_samples, worker.watched_samples_);
    add(totals.sleeps, worker.sleeps_);
  }
  return totals;
}

std::vector<StageProfile> StageCounters::sum(const Totals& since, const Totals& until) const {
  std::vector<StageProfile> profiles;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const Totals::Stage &a = since.stages[i], &b = until.stages[i];
    StageProfile profile{names_[i], b.samples - a.samples, 0, b.bytes - a.bytes};
    if (b.timed_samples > a.timed_samples) {
      const double scale =
          static_cast<double>(profile.samples) / static_cast<double>(b.timed_samples - a.timed_samples);
      profile.busy_ns = std::llround(static_cast<double>(b.timed_ns - a.timed_ns) * scale);
      profile.squares_us2 = (b.squares_us2 - a.squares_us2) * scale;
    }
    if (b.both_ns > a.both_ns) {
      const double share = static_cast<double>(b.cpu_ns - a.cpu_ns) / static_cast<double>(b.both_ns - a.both_ns);
      profile.cpu_ns = std::llround(static_cast<double>(profile.busy_ns) * std::min(1.0, share));
    }
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

std::int64_t StageCounters::run_delay_ns(const Totals& since, const Totals& until) const {
  // Fewer sleeps than these come from occasional lock contention or a stopped process, and do not count as sleeping.
  // One straggler in a hundred samples (bench's `stragglers`) is well above the threshold.
  constexpr std::int64_t kSamplesPerSleep = 256, kLeastSleeps = 4;
  const std::int64_t watched = until.watched_samples - since.watched_samples, sleeps = until.sleeps - since.sleeps;
  if (watched == 0 || (sleeps >= kLeastSleeps && sleeps * kSamplesPerSleep >= watched))
    return until.run_delay_ns - since.run_delay_ns;
  std::int64_t away = 0;
  for (const StageProfile& stage : sum(since, until)) away += std::max<std::int64_t>(0, stage.busy_ns - stage.cpu_ns);
  return away;
}

}  // namespace unstarve
