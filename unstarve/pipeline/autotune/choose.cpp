#include "unstarve/pipeline/autotune/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace unstarve::autotune {
namespace {

// Steps this near to the shortest are as good.
constexpr double kNear = 1.01;
// A sample that sleeps less than this part of its time computes: threads beyond the cores would gain little, and their
// switches cost.
constexpr double kSleeps = 0.1;
// Less than this part of a sample's time slept for its record: it lies in memory. So far below kSleeps, from where on
// reading ahead is begun, that it does not begin and end in turns.
constexpr double kAwake = 0.025;
// Reads in flight above what Little's law asks for, since they do not come evenly.
constexpr double kReadsHeadroom = 1.25;
constexpr int kLeastReads = 4;
// What a sample computes more when another thread has read its record, which then lies in that one's cache: 1.11 to
// 1.17 for photographs of 110 kB in the page cache, on one core (bench's warm-folder/read-ahead). Smaller
// records compute less, and were not measured.
constexpr double kHandedOver = 1.14;

double budget_cores(const Limits& limits) {
  return limits.cpu_budget > 0 ? std::min(limits.cpu_budget, limits.cores) : limits.cores;
}

bool computes(const Load& load) { return load.sleeping_share() < kSleeps; }

int most_threads(const Load& load, const Limits& limits) {
  if (limits.threads > 0) return limits.threads;
  const int cores = std::max(1, static_cast<int>(std::floor(budget_cores(limits) + 1e-9)));
  return computes(load) ? std::min(cores, limits.most_threads) : std::max(1, limits.most_threads);
}

int reads_for(const Load& load, double rate, const Limits& limits) {
  if (limits.most_read_ahead == 0) return 0;
  // None came in this while: nothing is known of them but that they take long.
  if (load.ahead_s <= 0) return std::min(load.reads, limits.most_read_ahead);
  const double reads = std::ceil(std::min(1e6, rate * load.ahead_s * kReadsHeadroom));
  return std::clamp(static_cast<int>(reads), std::min(kLeastReads, limits.most_read_ahead), limits.most_read_ahead);
}

bool within(const Choice& choice, const Load& load, const Limits& limits) {
  if (limits.byte_budget > 0 && choice.bytes > limits.byte_budget) return false;
  // Threads that compute are bounded by their number. Those that sleep use a part of a core each; all cores together
  // they cannot pass.
  const double budget = budget_cores(limits);
  if (computes(load) || budget >= limits.cores) return true;
  return threads_cores(load, choice.settings.threads, limits.cores) <= budget;
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} s", seconds);
}

std::string count_text(int count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string reason_of(const Choice& choice, const Load& load, const Limits& limits) {
  std::string text = fmt::format("a sample computes {} and sleeps {}", time_text(load.cpu_s), time_text(load.sleep_s));
  if (load.delay_s > 0.05 * load.sample_s())
    text += fmt::format(" and waits {} for a processor that others have", time_text(load.delay_s));
  text += load.consumer_s > 0 ? fmt::format(", the consumer works {} on a batch of {:.0f}", time_text(load.consumer_s),
                                            load.batch_samples)
                              : std::string(", the consumer takes batches as they come");
  const Settings& s = choice.settings;
  text += fmt::format(": {} {:.4g} samples/s",
                      s.threads == 1 ? "1 thread gives" : fmt::format("{} threads give", s.threads), choice.rate);
  if (choice.wait_share > 0.01) {
    text += fmt::format(", it waits {:.3g} % of its time", choice.wait_share * 100);
    if (limits.threads > 0)
      text += ", and the threads are as given";
    else if (s.threads == most_threads(load, limits))
      text +=
          computes(load) ? ", and more threads than cores would not compute more" : ", and more threads are not had";
    else if (limits.byte_budget > 0 || budget_cores(limits) < limits.cores)
      text += ", and more would gain less than 1 % or pass a budget";
    else
      text += ", and more would gain less than 1 %";
  } else {
    text += choice.wait_share < 1e-4 ? std::string(", it hardly ever waits")
                                     : fmt::format(", it waits {:.2g} % of its time", choice.wait_share * 100);
  }
  text += fmt::format("; {} ahead", count_text(s.prefetch, "batch", "batches"));
  const double window = window_batches(load, threads_rate(load, s.threads, limits.cores));
  if (window > limits.least_prefetch)
    text += fmt::format(" of the {:.3g} that its slowest samples ask for (a spread of {:.3g})", window, load.spread);
  if (s.read_ahead > 0) text += fmt::format("; {} reads in flight of {} each", s.read_ahead, time_text(load.ahead_s));
  return text;
}

}  // namespace

Choice judge(const Load& load, const Settings& settings, const Limits& limits) {
  Choice choice;
  choice.settings = settings;
  choice.rate = loader_rate(load, settings.threads, settings.prefetch, limits.cores);
  if (settings.read_ahead > 0 && load.ahead_s > 0)
    choice.rate = std::min(choice.rate, settings.read_ahead / load.ahead_s);
  const double wait_s = consumer_wait(load, choice.rate, settings.prefetch);
  const double step_s = load.consumer_s + wait_s;
  choice.wait_share = step_s > 0 ? wait_s / step_s : 0;
  const double taken = step_s > 0 ? std::min(choice.rate, load.batch_samples / step_s) : choice.rate;
  choice.cores = std::min(limits.cores, taken * (load.cpu_s + load.ahead_cpu_s));
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
  const int least = std::min(limits.least_prefetch, limits.most_prefetch);
  const int first = std::max(1, limits.threads);
  Choice chosen = at(first, least);
  double shortest = step(chosen);
  const auto each = [&](const auto& use) {
    for (int threads = first; threads <= most_threads(load, limits); ++threads)
      for (int prefetch = least; prefetch <= limits.most_prefetch; ++prefetch) {
        Choice choice = at(threads, prefetch);
        if (within(choice, load, limits) && use(choice)) return;
      }
  };
  each([&](const Choice& choice) {
    shortest = std::min(shortest, step(choice));
    return false;
  });
  each([&](Choice& choice) {
    if (step(choice) > kNear * shortest) return false;
    chosen = std::move(choice);
    return true;
  });
  chosen.reason = reason_of(chosen, load, limits);
  return chosen;
}

// The load when readers wait for the records in the threads' place, and hand them over: what samples sleep for, where
// data can be read ahead at all, is their records (touching a map's pages included).
Load with_readers(Load load) {
  load.ahead_s = load.sleep_s;
  load.sleep_s = 0;
  load.cpu_s *= kHandedOver;
  return load;
}

// The load when threads read for themselves again: they compute what readers do, and sleep as they do.
Load without_readers(Load load) {
  load.cpu_s = load.cpu_s / kHandedOver + load.ahead_cpu_s;
  load.sleep_s += load.ahead_sleep_s;
  load.delay_s = std::max(0.0, load.delay_s - load.ahead_cpu_s);  // for processors that readers had
  load.ahead_s = load.ahead_cpu_s = load.ahead_sleep_s = 0;
  load.reads = 0;
  return load;
}

Choice end_or_keep_readers(const Load& load, const Limits& limits) {
  Choice readers = best(load, limits);
  if (!limits.may_end_ahead || load.ahead_s <= 0) return readers;  // none came in this while: nothing is known
  const Load alone = without_readers(load);
  // Samples that sleep otherwise would begin it again.
  if (!computes(alone) || load.ahead_sleep_s >= kAwake * alone.sample_s()) return readers;
  Limits none = limits;
  none.most_read_ahead = 0;
  Choice threads = best(alone, none);
  if (step_of(alone, threads) > kNear * step_of(load, readers)) return readers;
  threads.reason += fmt::format("; reading ahead ends because readers sleep {} for a record, which lies in memory",
                                time_text(load.ahead_sleep_s));
  return threads;
}

}  // namespace

Choice choose(const Profile& profile, const Limits& limits) {
  Load load = load_of(profile);
  // On more threads than cores they wait for each other, which the model knows by itself.
  if (profile.loader_threads > limits.cores) load.delay_s = 0;
  if (limits.most_read_ahead == 0) return best(load, limits);
  if (profile.read_ahead > 0) return end_or_keep_readers(load, limits);
  Limits without = limits;
  without.most_read_ahead = 0;
  Choice threads = best(load, without);
  if (computes(load)) return threads;
  const Load ahead = with_readers(load);
  Choice readers = best(ahead, limits);
  if (readers.settings.read_ahead == 0 || step_of(ahead, readers) > kNear * step_of(load, threads)) return threads;
  readers.reason += fmt::format("; begun because threads wait {} for a record", time_text(load.sleep_s));
  return readers;
}

}  // namespace unstarve::autotune
