// A loader that measures itself and follows the autotuner.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <system_error>

#include "unstarve/observe/machine.h"
#include "unstarve/pipeline/executor/loader_state.h"

namespace unstarve {
namespace {

// A decision needs so many samples, and one of every thread; until they are there, it is looked again after kAgainNs.
constexpr std::int64_t kLeastSamples = 8;
constexpr std::int64_t kAgainNs = 20'000'000;
constexpr std::int64_t kAfterPauseNs = 250'000'000;
// Without a limit of the user's, the part of the available memory that tuning may ask for.
constexpr double kMemoryPart = 0.25;

}  // namespace

autotune::Limits Loader::State::limits() const {
  const ExecutionSpec& requested = plan.spec.execution;
  const ExecutionPlan& execution = plan.execution;
  autotune::Limits limits;
  limits.cores = cores;
  limits.cpu_budget = requested.cpu_limit;
  limits.max_threads = std::max(limits.max_threads, cores);
  limits.min_prefetch = std::min(execution.prefetch, limits.min_prefetch);
  if (execution.prefetch == 0) limits.max_prefetch = 0;
  limits.max_prefetch = std::max(limits.max_prefetch, execution.prefetch);
  limits.max_read_ahead = plan.execution.most_read_ahead;
  // In relaxed order samples get their numbers where they are read.
  limits.may_stop_read_ahead = requested.order == ExecutionOrder::kExact;
  if (!plan.execution.tuned) {
    limits.threads = limits.max_threads = execution.threads;
    limits.min_prefetch = limits.max_prefetch = execution.prefetch;
    return limits;
  }
  if (plan.memory.limit > 0) {
    // Divided already (memory_plan.h): what each part may have is what is bounded.
    limits.max_threads = std::min(limits.max_threads, plan.memory.most_threads);
    const int not_ahead = static_cast<int>(plan.memory.kept_batches) - plan.memory.prefetch;
    limits.max_prefetch = std::min(limits.max_prefetch, static_cast<int>(plan.memory.most_batches) - not_ahead);
    limits.min_prefetch = std::min(limits.min_prefetch, limits.max_prefetch);
  } else {
    limits.byte_budget = kMemoryPart * static_cast<double>(read_machine_facts().memory_available_bytes);
  }
  return limits;
}

void Loader::State::start_threads(int count) {
  std::lock_guard lock(threads_mutex);
  while (!closed && threads.size() < static_cast<std::size_t>(count))
    threads.emplace_back([this, number = static_cast<int>(threads.size())] { work(number); });
}

void Loader::State::look(std::int64_t now_ns) {
  std::unique_lock lock(tuning_mutex, std::try_to_lock);
  if (!lock || !look_is_due(now_ns)) return;
  const auto again = [&](std::int64_t ns) { next_look_ns.store(now_ns + ns, std::memory_order_relaxed); };
  const StageCounters::Totals totals = counters.totals();
  if (totals.stages[0].samples - last_totals.stages[0].samples < std::max<std::int64_t>(kLeastSamples, gate.open()))
    return again(kAgainNs);

  if (!controller) controller.emplace(in_force, limits());
  Profile now = measured();
  Profile window = between(last_look, now);
  const std::vector<StageProfile> stages = counters.sum(last_totals, totals);
  std::copy(stages.begin(), stages.end(), window.stages.begin());
  window.run_delay_ns = counters.run_delay_ns(last_totals, totals);
  const double seconds = static_cast<double>(now.wall_ns) * 1e-9;
  // A window with a pause of the consumer's tells nothing: the loader stood still, or the whole process was stopped.
  const bool paused = window.consumer.paused_ns > 0 && looked;
  if (!paused) {
    looked = true;
    const autotune::Settings wanted = controller->consider(window, seconds);
    if (wanted != in_force) apply(wanted, seconds);
  }
  last_look = std::move(now);
  last_totals = totals;
  const auto period_ns = static_cast<std::int64_t>(controller->period_s() * 1e9);
  again(paused ? std::min(period_ns, kAfterPauseNs) : period_ns);
}

void Loader::State::begin_read_ahead(int reads, double now_s) {
  try {
    const auto begin = [&](std::uint64_t first) {
      if (ahead() != nullptr) return ahead()->resume(first);
      // Room for as many as tuning may come to, since the ring's places do not move.
      start_read_ahead(plan.execution.most_read_ahead, first);
      return true;
    };
    if (ring->begin_ahead(begin)) return;
    in_force.read_ahead = 0;               // the run is over, or the next look begins it
  } catch (const std::exception& error) {  // the run can do without, whatever it is
    in_force.read_ahead = 0;
    controller->disable_read_ahead(now_s, fmt::format("{} reads in flight are not had: {}", reads, error.what()));
  }
}

void Loader::State::end_read_ahead() {
  // Where all is claimed they end by themselves.
  (void)ring->end_ahead([&](std::uint64_t first) { ahead()->pause(first); });
}

void Loader::State::apply(const autotune::Settings& settings, double now_s) {
  const bool reads = in_force.read_ahead > 0;
  in_force = settings;
  try {
    start_threads(settings.threads);
  } catch (const std::system_error& error) {
    const std::lock_guard lock(threads_mutex);
    in_force.threads = static_cast<int>(threads.size());
    controller->limit_threads(
        in_force.threads, now_s,
        fmt::format("the system gives no more threads than {}: {}", threads.size(), error.what()));
  }
  gate.set(in_force.threads);
  if (balance) balance->set_host_threads(in_force.threads);
  if (in_force.prefetch > 0) ring->set_prefetch(in_force.prefetch);
  if (in_force.read_ahead == 0 && reads) end_read_ahead();
  if (in_force.read_ahead > 0 && !reads) begin_read_ahead(in_force.read_ahead, now_s);
  if (in_force.read_ahead > 0) ahead()->set_reads(in_force.read_ahead);
}

Profile Loader::State::measured() const {
  const std::int64_t now_ns = clock.now_ns();
  Profile profile;
  profile.wall_ns = now_ns - started_ns;
  profile.samples = samples.load(std::memory_order_relaxed);
  profile.batches = batches.load(std::memory_order_relaxed);
  profile.batch_samples = plan.spec.batch.size;
  profile.batch_bytes =
      static_cast<std::int64_t>(storer.sample_bytes(plan.sample_size)) * std::int64_t{plan.spec.batch.size};
  profile.loader_threads = gate.open();
  profile.prefetch_batches = in_force.prefetch;
  profile.read_ahead = in_force.read_ahead;
  profile.stages = counters.sum();
  if (const ReadAhead* const reading = ahead()) profile.stages.push_back(reading->profile());
  profile.consumer = consumer.profile(now_ns);
  profile.stages.push_back({"wait", profile.samples, profile.consumer.wait_ns, 0});
  profile.run_delay_ns = counters.totals().run_delay_ns;
  return profile;
}

}  // namespace unstarve
