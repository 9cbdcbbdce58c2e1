#pragma once
// One model of the training step: how long a batch takes, from the times of its parts, and what a change gains.
//
//   storage -> loader (threads) -> prefetched batches -> consumer
//
//   y      the loader makes a batch: max((cpu + wait) / threads, cpu / cores)
//   x      the consumer processes a batch
//   step   prefetch 0: x + y; else max(x, y) + the wait of a queue of n batches between both, at least
//          (cpu of both) / cores
//   queue  with regular times the consumer never waits if y < x. With exponential times the buffer is empty with
//          probability P = (1 - x/y) / (1 - (x/y)^(n+1)), 1/(n+1) if x = y, and the step takes x + P y (the M/M/1/K
//          model of tf.data's autotuner, tensorflow/core/framework/model.h). `variation` mixes the two.
//
// Threads: pure functions. Failure: none; times that are not positive count as 0.

namespace unstarve {

struct Profile;

struct StepModel {
  double load_cpu_s = 0;     // CPU time of all worker threads per batch
  double load_wait_s = 0;    // further time of these threads: for the storage
  int threads = 1;           // of the loader
  int prefetch = 0;          // batches
  double consume_s = 0;      // time of the consumer per batch, without waiting
  double consume_cpu_s = 0;  // CPU time of it
  double cores = 0;          // usable; 0: unlimited
  double variation = 0;      // of the times of batches, squared and relative: 0: regular, 1: exponential
};

// Seconds per batch.
[[nodiscard]] double step_seconds(const StepModel& model);

// A predicted gain: throughput after a change divided by that before it.
//
//   gain, low, high   a prediction with its interval
//   0, low, high      only the interval is known: a bound
//   gain, 0, 0        without an interval
//   0, 0, 0           nothing is known
struct GainPrediction {
  double gain = 0;
  double low = 0;
  double high = 0;
  [[nodiscard]] bool known() const { return high > 0; }
};

// `measured_s`: time of a batch before the change; 0: unknown. The interval covers regular and exponential times, a
// consumer that needs none of the cores or all of `consume_cpu_s`, and that the time which the model does not explain
// remains or shrinks too.
[[nodiscard]] GainPrediction predict_gain(const StepModel& before, const StepModel& after, double measured_s);

// The largest gain of a change that makes a part faster: as if it took no time. `gain` is 0.
enum class StepSide { kLoader, kConsumer };
[[nodiscard]] GainPrediction bound_gain(const StepModel& model, StepSide side, double measured_s);

// Times per batch of `profile`, which has stages of the loader and a consumer. Without batches all times are 0. CPU
// time of the consumer, cores and prefetched batches remain to be set.
[[nodiscard]] StepModel step_model_of(const Profile& profile);

}  // namespace unstarve
