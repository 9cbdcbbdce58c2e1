#include "unstarve/pipeline/executor/run_tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "unstarve/observe/machine.h"
#include "unstarve/pipeline/delivery/delivery.h"
#include "unstarve/pipeline/device/decode_balance.h"
#include "unstarve/pipeline/executor/executor.h"
#include "unstarve/pipeline/executor/run.h"
#include "unstarve/pipeline/read_ahead/read_ahead.h"

namespace unstarve {
namespace {

constexpr std::int64_t kFirstNs = 50'000'000;  // after the start
// A decision requires this many samples, and one per thread; until then, the next call is after kRetryNs.
constexpr std::int64_t kLeastSamples = 8;
constexpr std::int64_t kRetryNs = 20'000'000;
constexpr std::int64_t kAfterPauseNs = 250'000'000;
// Without a memory limit, the share of the available memory that settings may need.
constexpr double kMemoryShare = 0.25;

}  // namespace

RunTuner::RunTuner(const Run& run, Executor& executor, const Consumption& consumption)
    : run_(run), executor_(executor), consumption_(consumption), started_ns_(run.clock.now_ns()) {
  const ExecutionPlan& execution = run.execution;
  settings_ = {execution.threads, execution.prefetch, execution.read_ahead};
  periodic_.call = [this](std::int64_t now_ns) { tune(now_ns); };
  if (execution.tuned || execution.max_read_ahead > 0) periodic_.due_ns = steady_clock().now_ns() + kFirstNs;
  if (run.decode_balance) run.decode_balance->set_host_threads(execution.threads);
}

autotune::Limits RunTuner::limits() const {
  const ExecutionSpec& requested = run_.plan.spec.execution;
  const ExecutionPlan& execution = run_.execution;
  const MemoryPlan& memory = run_.execution.memory;
  autotune::Limits limits;
  limits.cores = run_.usable_cores;
  limits.cpu_budget = requested.cpu_limit;
  limits.max_threads = std::max(limits.max_threads, run_.usable_cores);
  limits.min_prefetch = std::min(execution.prefetch, limits.min_prefetch);
  if (execution.prefetch == 0) limits.max_prefetch = 0;
  limits.max_prefetch = std::max(limits.max_prefetch, execution.prefetch);
  limits.max_read_ahead = execution.max_read_ahead;
  // In relaxed order the readers decide which sample is next.
  limits.may_stop_read_ahead = requested.order == ExecutionOrder::kExact;
  if (!execution.tuned) {
    limits.threads = limits.max_threads = execution.threads;
    limits.min_prefetch = limits.max_prefetch = execution.prefetch;
    return limits;
  }
  if (memory.limit > 0) {
    // The memory plan has divided the limit already, so each part is bounded.
    limits.max_threads = std::min(limits.max_threads, memory.max_threads);
    const int not_prefetched = static_cast<int>(memory.kept_batches) - memory.prefetch;
    limits.max_prefetch = std::min(limits.max_prefetch, static_cast<int>(memory.max_batches) - not_prefetched);
    limits.min_prefetch = std::min(limits.min_prefetch, limits.max_prefetch);
  } else {
    limits.byte_budget = kMemoryShare * static_cast<double>(read_machine_facts().memory_available_bytes);
  }
  return limits;
}

void RunTuner::tune(std::int64_t now_ns) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || now_ns < periodic_.due_ns.load(std::memory_order_relaxed)) return;
  const auto call_again = [&](std::int64_t ns) { periodic_.due_ns.store(now_ns + ns, std::memory_order_relaxed); };
  const StageCounters& counters = executor_.counters();
  const StageCounters::Totals totals = counters.totals();
  const std::int64_t samples = totals.stages[0].samples - last_totals_.stages[0].samples;
  if (samples < std::max<std::int64_t>(kLeastSamples, executor_.threads())) return call_again(kRetryNs);

  if (!controller_) controller_.emplace(settings_, limits());
  Profile now = measure();
  Profile window = between(last_, now);
  const std::vector<StageProfile> stages = counters.sum(last_totals_, totals);
  std::copy(stages.begin(), stages.end(), window.stages.begin());
  window.run_delay_ns = counters.run_delay_ns(last_totals_, totals);
  const double seconds = static_cast<double>(now.wall_ns) * 1e-9;
  // A window with a pause of the consumer is not representative: the loader, or the whole process, was stopped.
  const bool paused = window.consumer.paused_ns > 0 && considered_;
  if (!paused) {
    considered_ = true;
    const autotune::Settings chosen = controller_->consider(window, seconds);
    if (chosen != settings_) apply(chosen, seconds);
  }
  last_ = std::move(now);
  last_totals_ = totals;
  const auto period_ns = static_cast<std::int64_t>(controller_->period_s() * 1e9);
  call_again(paused ? std::min(period_ns, kAfterPauseNs) : period_ns);
}

void RunTuner::begin_read_ahead(double now_s) {
  try {
    // The ring of records does not grow, so it is sized for the most that tuning may choose.
    if (executor_.begin_read_ahead(run_.execution.max_read_ahead)) return;
    settings_.read_ahead = 0;              // the run ends, or the next call succeeds
  } catch (const std::exception& error) {  // the run continues without
    controller_->disable_read_ahead(now_s, fmt::format("cannot start {} reads in flight: {}",
                                                       std::exchange(settings_.read_ahead, 0), error.what()));
  }
}

void RunTuner::apply(const autotune::Settings& settings, double now_s) {
  const bool reads = settings_.read_ahead > 0;
  settings_ = settings;
  try {
    (void)executor_.start_threads(settings.threads);
  } catch (const std::system_error& error) {
    settings_.threads = executor_.started_threads();
    controller_->limit_threads(settings_.threads, now_s,
                               fmt::format("cannot start more than {} threads: {}", settings_.threads, error.what()));
  }
  executor_.set_threads(settings_.threads);
  if (run_.decode_balance) run_.decode_balance->set_host_threads(settings_.threads);
  if (settings_.prefetch > 0) executor_.delivery().set_prefetch(settings_.prefetch);
  if (settings_.read_ahead == 0 && reads) executor_.end_read_ahead();
  if (settings_.read_ahead > 0 && !reads) begin_read_ahead(now_s);
  if (settings_.read_ahead > 0) executor_.read_ahead()->set_reads(settings_.read_ahead);
}

Profile RunTuner::measure() const {
  const std::int64_t now_ns = run_.clock.now_ns();
  const Plan& plan = run_.plan;
  Profile profile;
  profile.wall_ns = now_ns - started_ns_;
  profile.samples = consumption_.samples.load(std::memory_order_relaxed);
  profile.batches = consumption_.batches.load(std::memory_order_relaxed);
  profile.batch_samples = plan.spec.batch.size;
  profile.batch_bytes =
      static_cast<std::int64_t>(run_.storer.sample_bytes(plan.sample_size())) * std::int64_t{plan.spec.batch.size};
  profile.loader_threads = executor_.threads();
  profile.prefetch_batches = settings_.prefetch;
  profile.read_ahead = settings_.read_ahead;
  profile.stages = executor_.counters().sum();
  if (const ReadAhead* const reading = executor_.read_ahead()) profile.stages.push_back(reading->profile());
  profile.consumer = consumption_.clock.profile(now_ns);
  profile.stages.push_back({"wait", profile.samples, profile.consumer.wait_ns, 0});
  profile.run_delay_ns = executor_.counters().totals().run_delay_ns;
  return profile;
}

Profile RunTuner::profile() const {
  const std::lock_guard lock(mutex_);
  Profile profile = measure();
  if (controller_) profile.tuning = controller_->log();
  return profile;
}

}  // namespace unstarve
