#include "unstarve/pipeline/autotune/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace unstarve::autotune {
namespace {

// Steps within this factor of the shortest are considered equal.
constexpr double kEqual = 1.01;
// A sample that sleeps less than this share of its time is compute-bound: threads beyond the cores gain little and cost
// context switches.
constexpr double kMinSleepShare = 0.1;
// Readers that sleep less than this share of a sample's time find the records in memory. Far below kMinSleepShare, at
// which read-ahead starts, so that it does not start and stop alternately.
constexpr double kMinReaderSleepShare = 0.025;
// Reads in flight relative to Little's law, because reads are not evenly distributed.
constexpr double kReadsHeadroom = 1.25;
constexpr int kMinReads = 4;
// CPU time of a sample whose record was read by another thread and is in that thread's cache, relative to a sample
// whose thread reads the record itself: 1.11 to 1.17 for photographs of 110 kB in the page cache, on one core (bench's
// warm-folder/read-ahead). Smaller records were not measured.
constexpr double kHandoverCost = 1.14;

double budget_cores(const Limits& limits) {
  return limits.cpu_budget > 0 ? std::min(limits.cpu_budget, limits.cores) : limits.cores;
}

bool is_compute_bound(const Load& load) { return load.sleeping_share() < kMinSleepShare; }

int max_threads(const Load& load, const Limits& limits) {
  if (limits.threads > 0) return limits.threads;
  const int cores = std::max(1, static_cast<int>(std::floor(budget_cores(limits) + 1e-9)));
  return is_compute_bound(load) ? std::min(cores, limits.max_threads) : std::max(1, limits.max_threads);
}

int reads_for(const Load& load, double rate, const Limits& limits) {
  if (limits.max_read_ahead == 0) return 0;
  // No read finished in this window, so only the present number is known.
  if (load.readers.latency_s <= 0) return std::min(load.readers.in_flight, limits.max_read_ahead);
  const double reads = std::ceil(std::min(1e6, rate * load.readers.latency_s * kReadsHeadroom));
  return std::clamp(static_cast<int>(reads), std::min(kMinReads, limits.max_read_ahead), limits.max_read_ahead);
}

bool fits_budgets(const Choice& choice, const Load& load, const Limits& limits) {
  if (limits.byte_budget > 0 && choice.bytes > limits.byte_budget) return false;
  // Compute-bound threads are limited by their number. Sleeping threads use a part of a core each, and at most all
  // cores.
  const double budget = budget_cores(limits);
  if (is_compute_bound(load) || budget >= limits.cores) return true;
  return threads_cores(load, choice.settings.threads, limits.cores) <= budget;
}

std::string time_text(double seconds) {
  if (seconds < 1e-9) return "0 us";
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} s", seconds);
}

std::string count_text(int count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// Why the consumer waits for the chosen threads.
const char* wait_reason(const Choice& choice, const Load& load, const Limits& limits) {
  if (limits.threads > 0) return "the number of threads is fixed";
  if (choice.settings.threads == max_threads(load, limits))
    return is_compute_bound(load) ? "more threads than cores would not help" : "no more threads are available";
  if (limits.byte_budget > 0 || budget_cores(limits) < limits.cores)
    return "more threads would gain less than 1 % or exceed a budget";
  return "more threads would gain less than 1 %";
}

std::string reason_of(const Choice& choice, const Load& load, const Limits& limits) {
  std::string text =
      fmt::format("per sample: {} of CPU time, {} waiting for data", time_text(load.cpu_s), time_text(load.sleep_s));
  if (load.delay_s > 0.05 * load.sample_s()) text += fmt::format(", {} waiting for a CPU", time_text(load.delay_s));
  text += load.consumer_s > 0
              ? fmt::format("; consumer: {} per batch of {:.0f}", time_text(load.consumer_s), load.batch_samples)
              : std::string("; consumer: takes batches without delay");
  const Settings& s = choice.settings;
  text += fmt::format(". {} {:.4g} samples/s; the consumer waits ",
                      s.threads == 1 ? "1 thread delivers" : fmt::format("{} threads deliver", s.threads), choice.rate);
  text += choice.wait_share < 1e-4 ? std::string("less than 0.01 % of the time")
                                   : fmt::format("{:.3g} % of the time", choice.wait_share * 100);
  if (choice.wait_share > 0.01) text += fmt::format(": {}", wait_reason(choice, load, limits));
  text += fmt::format(". {} prefetched", count_text(s.prefetch, "batch", "batches"));
  const double window = window_batches(load, threads_rate(load, s.threads, limits.cores));
  if (window > limits.min_prefetch) text += fmt::format("; absorbing the slowest samples takes {:.3g}", window);
  if (s.read_ahead > 0)
    text += fmt::format("; {} reads in flight, {} each", s.read_ahead, time_text(load.readers.latency_s));
  return text;
}

}  // namespace

Choice judge(const Load& load, const Settings& settings, const Limits& limits) {
  Choice choice;
  choice.settings = settings;
  choice.rate = loader_rate(load, settings.threads, settings.prefetch, limits.cores);
  if (settings.read_ahead > 0 && load.readers.latency_s > 0)
    choice.rate = std::min(choice.rate, settings.read_ahead / load.readers.latency_s);
  const double wait_s = consumer_wait(load, choice.rate, settings.prefetch);
  const double step_s = load.consumer_s + wait_s;
  choice.wait_share = step_s > 0 ? wait_s / step_s : 0;
  choice.bytes = (settings.prefetch + 2) * load.batch_bytes + settings.threads * load.worker_bytes +
                 2.0 * settings.read_ahead * load.record_bytes;
  return choice;
}

namespace {

double step_of(const Load& load, const Choice& choice) {
  return load.consumer_s + consumer_wait(load, choice.rate, choice.settings.prefetch);
}

Choice best(const Load& load, const Limits& limits) {
  const double demand = load.consumer_s > 0 ? load.batch_samples / load.consumer_s : INFINITY;

  const auto at = [&](int threads, int prefetch) {
    Settings settings{threads, prefetch, 0};
    settings.read_ahead = reads_for(load, std::min(demand, loader_rate(load, threads, prefetch, limits.cores)), limits);
    return judge(load, settings, limits);
  };
  const auto step = [&](const Choice& choice) { return step_of(load, choice); };
  const int min_prefetch = std::min(limits.min_prefetch, limits.max_prefetch);
  const int first = std::max(1, limits.threads);
  Choice chosen = at(first, min_prefetch);
  double shortest = step(chosen);
  const auto each = [&](const auto& use) {
    for (int threads = first; threads <= max_threads(load, limits); ++threads)
      for (int prefetch = min_prefetch; prefetch <= limits.max_prefetch; ++prefetch) {
        Choice choice = at(threads, prefetch);
        if (fits_budgets(choice, load, limits) && use(choice)) return;
      }
  };
  each([&](const Choice& choice) {
    shortest = std::min(shortest, step(choice));
    return false;
  });
  each([&](Choice& choice) {
    if (step(choice) > kEqual * shortest) return false;
    chosen = std::move(choice);
    return true;
  });
  chosen.reason = reason_of(chosen, load, limits);
  return chosen;
}

// The load if readers wait for the records instead of the threads. If data can be read ahead, samples sleep for their
// records (including page faults of memory maps).
Load with_readers(Load load) {
  load.readers.latency_s = load.sleep_s;
  load.sleep_s = 0;
  load.cpu_s *= kHandoverCost;
  return load;
}

// The load if threads read again: they add the CPU time and the sleep of the readers.
Load without_readers(Load load) {
  load.cpu_s = load.cpu_s / kHandoverCost + load.readers.cpu_s;
  load.sleep_s += load.readers.sleep_s;
  load.delay_s = std::max(0.0, load.delay_s - load.readers.cpu_s);  // for CPUs used by readers
  load.readers = {};
  return load;
}

Choice stop_or_keep_readers(const Load& load, const Limits& limits) {
  Choice readers = best(load, limits);
  if (!limits.may_stop_read_ahead || load.readers.latency_s <= 0) return readers;  // no read finished in this window
  const Load alone = without_readers(load);
  // Samples that sleep for other reasons would start it again.
  if (!is_compute_bound(alone) || load.readers.sleep_s >= kMinReaderSleepShare * alone.sample_s()) return readers;
  Limits none = limits;
  none.max_read_ahead = 0;
  Choice threads = best(alone, none);
  if (step_of(alone, threads) > kEqual * step_of(load, readers)) return readers;
  threads.reason += fmt::format("; read-ahead stops: readers wait only {} per record, so the records are in memory",
                                time_text(load.readers.sleep_s));
  return threads;
}

}  // namespace

Choice choose(const Profile& profile, const Limits& limits) {
  Load load = load_of(profile);
  // With more threads than cores they wait for each other, which the model includes.
  if (profile.loader_threads > limits.cores) load.delay_s = 0;
  if (limits.max_read_ahead == 0) return best(load, limits);
  if (profile.read_ahead > 0) return stop_or_keep_readers(load, limits);
  Limits without = limits;
  without.max_read_ahead = 0;
  Choice threads = best(load, without);
  if (is_compute_bound(load)) return threads;
  const Load ahead = with_readers(load);
  Choice readers = best(ahead, limits);
  if (readers.settings.read_ahead == 0 || step_of(ahead, readers) > kEqual * step_of(load, threads)) return threads;
  readers.reason += fmt::format("; read-ahead starts: worker threads wait {} per record", time_text(load.sleep_s));
  return readers;
}

}  // namespace unstarve::autotune
