#include "unstarve/pipeline/autotune/model.h"

#include <algorithm>
#include <cmath>

#include "unstarve/core/format_error.h"

namespace unstarve::autotune {
namespace {

// Loads drift between two decisions; the consumer must not wait if batches take longer by this factor.
constexpr double kHeadroom = 1.1;
// Assumed length of the slowest sample, relative to the sample at which a busy thread is found.
constexpr double kSlowest = 2;
// Sharpness of the transition from the bound of the threads to that of the window. Measured with reads of 1 ms, one in
// a hundred of 100 ms, two cores and 32 prefetched batches of 64: 16, 32, 45 and 64 threads delivered 8637, 15643,
// 19865 and 21211 samples/s. The model with 5 predicts 8084, 15671, 19883 and 22180; the minimum of both bounds would
// be 8093, 16186, 22762 and 22918.
constexpr double kKnee = 5;

double positive(double value) { return std::isfinite(value) && value > 0 ? value : 0; }

// Squared coefficient of variation from a sum and a sum of squares over `count`.
double spread_of(double sum, double squares, double count) {
  if (count <= 0 || sum <= 0) return 0;
  const double mean = sum / count;
  return positive(squares / count / (mean * mean) - 1);
}

}  // namespace

Load load_of(const Profile& profile) {
  Load load;
  load.batch_samples = profile.batch_samples;
  load.batch_bytes = static_cast<double>(profile.batch_bytes);
  double busy_s = 0, variance_s2 = 0, samples = 0, waited_s = 0;
  for (const StageProfile& stage : profile.stages) {
    if (stage.name == "wait" || stage.samples <= 0) continue;
    const auto n = static_cast<double>(stage.samples);
    const double mean = positive(static_cast<double>(stage.busy_ns)) / n * 1e-9;
    const double cpu = std::min(mean, positive(static_cast<double>(stage.cpu_ns)) / n * 1e-9);
    const double bytes = positive(static_cast<double>(stage.bytes)) / n;
    if (stage.name == "read_ahead") {
      load.readers.latency_s = mean;
      load.readers.cpu_s = cpu;
      load.readers.sleep_s = std::max(0.0, mean - positive(static_cast<double>(stage.awake_ns)) / n * 1e-9);
      load.record_bytes = std::max(load.record_bytes, bytes);
      continue;
    }
    samples = std::max(samples, n);
    busy_s += mean;
    load.cpu_s += cpu;
    variance_s2 += mean * mean * spread_of(mean * n, stage.squares_us2 * 1e-12, n);
    load.worker_bytes += bytes;  // memory of a thread per stage: the record, the decoded image, the operations
    if (stage.name == "read") {
      load.record_bytes = std::max(load.record_bytes, bytes);
      waited_s = mean - cpu;
    }
  }
  if (samples <= 0 || profile.batch_samples < 1)
    throw argument_error("autotune: found a profile with {} samples in batches of {}; expected 1 or more of both",
                         samples, profile.batch_samples);
  // With read-ahead, workers wait for the readers, which more workers would not change.
  load.readers.in_flight = profile.read_ahead;
  if (load.readers.in_flight > 0 || load.readers.latency_s > 0) busy_s -= waited_s;
  const double away = busy_s - load.cpu_s;
  load.delay_s = std::min(away, positive(static_cast<double>(profile.run_delay_ns)) * 1e-9 / samples);
  load.sleep_s = away - load.delay_s;
  load.spread = busy_s > 0 ? variance_s2 / (busy_s * busy_s) : 0;

  const ConsumerProfile& consumer = profile.consumer;
  if (consumer.batches > 0) {
    const auto n = static_cast<double>(consumer.batches);
    load.consumer_s = positive(static_cast<double>(consumer.busy_ns)) / n * 1e-9;
    load.consumer_spread = spread_of(load.consumer_s * n, consumer.squares_us2 * 1e-12, n);
  }
  return load;
}

double threads_rate(const Load& load, int threads, double cores) {
  const double n = threads;
  const double think_s = load.sleep_s + load.delay_s;  // waiting for a CPU used by others counts as sleep
  if (load.sample_s() <= 0) return INFINITY;
  if (n <= cores || load.cpu_s <= 0) return n / load.sample_s();  // no thread waits for another
  if (think_s <= 0) return cores / load.cpu_s;
  // p[j]: j threads are ready or running, n - j sleep. p[j] / p[j-1] = (n - j + 1) (c / w) / min(j, C).
  const double ratio = load.cpu_s / think_s;
  double p = 1, all = 1, running = 0;
  for (int j = 1; j <= threads; ++j) {
    p *= (n - j + 1) * ratio / std::min<double>(j, cores);
    if (p > 1e200) {
      all /= p;
      running /= p;
      p = 1;
    }
    all += p;
    running += p * std::min<double>(j, cores);
  }
  return running / all / load.cpu_s;
}

double threads_cores(const Load& load, int threads, double cores) {
  return load.cpu_s > 0 ? std::min<double>(threads, threads_rate(load, threads, cores) * load.cpu_s) : 0;
}

double window_batches(const Load& load, double rate) {
  return rate * kSlowest * load.sample_s() * (1 + load.spread) / load.batch_samples;
}

double loader_rate(const Load& load, int threads, int prefetch, double cores) {
  const double rate = threads_rate(load, threads, cores);
  const double needed = window_batches(load, rate);
  const double window = std::max(1, prefetch);
  return rate * std::pow(1 + std::pow(needed / window, kKnee), -1 / kKnee);
}

double empty_chance(double consumer_s, double producer_s, int slots, double spread) {
  if (producer_s <= 0) return 0;
  if (consumer_s <= 0) return 1;
  // The equivalent number of slots with exponential times; more than 1e6 makes no difference.
  const double n = std::min(1e6, slots * 2 / std::max(spread, 1e-6));
  const double log_ratio = std::log(consumer_s / producer_s);
  // (r - 1) / (r^(n+1) - 1), exact near r = 1 and without overflow.
  if (std::abs(log_ratio) < 1e-9) return 1 / (n + 1);
  return std::clamp(std::expm1(log_ratio) / std::expm1(std::min(700.0, (n + 1) * log_ratio)), 0.0, 1.0);
}

double consumer_wait(const Load& load, double rate, int prefetch) {
  if (prefetch == 0) return load.batch_samples / rate;
  const double batch_s = kHeadroom * load.batch_samples / rate;
  const double spread = load.consumer_spread + load.spread / load.batch_samples;
  return std::max(batch_s - load.consumer_s, empty_chance(load.consumer_s, batch_s, prefetch, spread) * batch_s);
}

}  // namespace unstarve::autotune
