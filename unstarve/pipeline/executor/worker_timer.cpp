#include "unstarve/pipeline/executor/worker_timer.h"

#include "unstarve/core/clock.h"

namespace unstarve {

void WorkerTimer::begin_claim() {
  totals_ = {};
  totals_.take_cpu = sample_ns_ > kAlwaysCpuNs || claims_++ % kCpuEvery == 0;
}

void WorkerTimer::begin_samples() {
  sleeps_ = totals_.take_cpu ? thread_sleeps() : std::nullopt;
  start_ns_ = steady_clock().now_ns();
}

std::int64_t WorkerTimer::end_samples(std::size_t count) {
  const auto samples = static_cast<std::int64_t>(count);
  const std::int64_t now = steady_clock().now_ns();
  sample_ns_ = (now - start_ns_) / samples;
  if (sleeps_) counters_.sleeps(samples, *thread_sleeps() - *sleeps_);
  for (std::size_t stage = 0; stage < kStages; ++stage) {
    counters_.count(stage, samples, totals_.bytes[stage]);
    counters_.time(stage, totals_.timed_samples, totals_.ns[stage], totals_.squares_us2[stage]);
    if (totals_.take_cpu) counters_.cpu(stage, totals_.both_ns[stage], totals_.cpu_ns[stage]);
  }
  if (now - delay_taken_ns_ >= kDelayEveryNs) {
    delay_taken_ns_ = now;
    counters_.delay(delay_.take_ns());
  }
  return now;
}

ReadWait::ReadWait(StageTotals& totals, bool timed) : totals_(totals), timed_(timed) {
  if (!timed_) return;
  if (totals_.take_cpu) start_cpu_ns_ = thread_cpu_ns();
  start_ns_ = steady_clock().now_ns();
}

void ReadWait::end() {
  if (!timed_) return;
  constexpr auto kRead = static_cast<std::size_t>(WorkStage::kRead);
  const std::int64_t ns = steady_clock().now_ns() - start_ns_;
  totals_.ns[kRead] += ns;
  if (!totals_.take_cpu) return;
  totals_.both_ns[kRead] += ns;
  totals_.cpu_ns[kRead] += thread_cpu_ns() - start_cpu_ns_;
}

}  // namespace unstarve
