#include "unstarve/jobs/capacity/accelerator_group.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace unstarve {
namespace {

// A thread that is ready to run waits for a CPU for about one tick of the scheduler. More is a loss of the host.
constexpr std::int64_t kForgivenNs = 4'000'000;

// The end of each step of a job: its accelerators wait for the last one, and stop after the same step.
class StepBarrier {
 public:
  StepBarrier(int accelerators, std::int64_t stop_ns) : accelerators_(accelerators), stop_ns_(stop_ns) {}

  // Waits for the others. Returns the latest end of the step; nothing after cancel().
  std::optional<std::int64_t> wait(std::int64_t end_ns) {
    std::unique_lock lock(mutex_);
    if (cancelled_) return {};
    latest_ = std::max(latest_, end_ns);
    if (++arrived_ == accelerators_) {
      arrived_ = 0;
      released_ = latest_;
      ++steps_;
      over_ = released_ >= stop_ns_ && steps_ > kLeastSteps;  // the first step is not counted
      changed_.notify_all();
      return released_;
    }
    const std::int64_t step = steps_;
    changed_.wait(lock, [&] { return cancelled_ || steps_ != step; });
    if (steps_ == step) return {};
    return released_;
  }
  // Whether the step that wait() returned was the last one. No accelerator reaches the end of another step before all
  // have called this.
  [[nodiscard]] bool over() {
    const std::lock_guard lock(mutex_);
    return over_;
  }
  void cancel() {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    changed_.notify_all();
  }

 private:
  const int accelerators_;
  const std::int64_t stop_ns_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  std::int64_t latest_ = 0, released_ = 0, steps_ = 0;
  bool over_ = false, cancelled_ = false;
};

struct GroupTimeline {
  std::int64_t first_ns = 0;  // end of the first step, which is not counted
  std::int64_t last_ns = 0;
  std::int64_t steps = 0;
  std::int64_t data_wait_ns = 0, job_wait_ns = 0;
  std::vector<AcceleratorStep> recorded;
};

class Emulation {
 public:
  Emulation(const AcceleratorModel& model, const AcceleratorGroup& group, BatchFeed& feed, Clock& clock)
      : model_(model),
        group_(group),
        feed_(feed),
        clock_(clock),
        timelines_(static_cast<std::size_t>(group.accelerators)) {
    const std::int64_t stop = clock.now_ns() + static_cast<std::int64_t>(group.seconds * 1e9);
    for (int left = group.accelerators; left > 0; left -= group.per_job)
      barriers_.push_back(std::make_unique<StepBarrier>(std::min(left, group.per_job), stop));
  }

  AcceleratorUse run() {
    {
      std::vector<std::jthread> threads;
      try {
        for (int i = 0; i < group_.accelerators; ++i) threads.emplace_back([this, i] { emulate(i); });
      } catch (...) {  // no further thread: those that exist wait for it
        fail(std::current_exception());
      }
    }
    if (failure_) std::rethrow_exception(failure_);
    return use();
  }

 private:
  void emulate(int accelerator) {
    try {
      use_batches(accelerator, *barriers_[static_cast<std::size_t>(accelerator / group_.per_job)]);
    } catch (...) {
      fail(std::current_exception());
    }
  }

  void use_batches(int number, StepBarrier& barrier) {
    GroupTimeline& timeline = timelines_[static_cast<std::size_t>(number)];
    const std::size_t most = kMostAcceleratorSteps / timelines_.size();
    EmulatedAccelerator accelerator(model_, group_.batch, clock_);
    std::int64_t now = clock_.now_ns();
    for (;;) {
      const BatchFeed::Taken taken = feed_.take();
      if (taken == BatchFeed::Taken::kClosed) return;
      const std::int64_t received = clock_.now_ns();
      const bool waited = taken == BatchFeed::Taken::kWaited;
      AcceleratorStep step{number, now};
      now = waited ? std::max(now, received) : std::max(now, received - kForgivenNs);
      step.ready_ns = now;
      step.computed_ns = accelerator.step_from(now);
      const auto end = barrier.wait(step.computed_ns);
      if (!end) return;
      now = step.end_ns = *end;
      if (timeline.recorded.size() < most) timeline.recorded.push_back(step);
      clock_.sleep_until(now);  // has passed already, unless a test simulates the time
      if (timeline.first_ns == 0) {
        timeline.first_ns = now;
      } else {
        ++timeline.steps;
        timeline.data_wait_ns += step.ready_ns - step.begin_ns;
        timeline.job_wait_ns += step.end_ns - step.computed_ns;
      }
      timeline.last_ns = now;
      if (barrier.over()) return;
    }
  }

  void fail(std::exception_ptr failure) {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::move(failure);
    }
    feed_.close();
    for (const auto& barrier : barriers_) barrier->cancel();
  }

  [[nodiscard]] AcceleratorUse use() const {
    const double step_ns = static_cast<double>(EmulatedAccelerator(model_, group_.batch, clock_).step_ns());
    AcceleratorUse use;
    use.lowest = 1;
    for (const GroupTimeline& timeline : timelines_) {
      const auto wall = static_cast<double>(timeline.last_ns - timeline.first_ns);
      const auto steps = static_cast<double>(timeline.steps);
      const double one = wall > 0 ? steps * step_ns / wall : 0;
      use.utilisation += one / static_cast<double>(timelines_.size());
      use.lowest = std::min(use.lowest, one);
      if (wall > 0) use.samples_per_s += steps * group_.batch * 1e9 / wall;
      use.steps += timeline.steps;
      use.computed_s += 1e-9 * steps * step_ns;
      use.data_wait_s += 1e-9 * static_cast<double>(timeline.data_wait_ns);
      use.job_wait_s += 1e-9 * static_cast<double>(timeline.job_wait_ns);
      use.recorded.insert(use.recorded.end(), timeline.recorded.begin(), timeline.recorded.end());
    }
    return use;
  }

  const AcceleratorModel& model_;
  const AcceleratorGroup group_;
  BatchFeed& feed_;
  Clock& clock_;
  std::vector<GroupTimeline> timelines_;
  std::vector<std::unique_ptr<StepBarrier>> barriers_;  // by job
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

AcceleratorUse run_accelerators(const AcceleratorModel& model, const AcceleratorGroup& group, BatchFeed& feed,
                                Clock& clock) {
  return Emulation(model, group, feed, clock).run();
}

}  // namespace unstarve
