#include "unstarve/observe/step_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "unstarve/core/profile.h"

namespace unstarve {
namespace {

double positive(double value) { return std::isfinite(value) && value > 0 ? value : 0; }

// The probability that the consumer finds no batch (see the header).
double empty_share(double x, double y, int n) {
  if (y <= 0) return 0;
  if (x <= 0) return 1;
  const double ratio = x / y;
  if (std::abs(ratio - 1) < 1e-6) return 1.0 / (n + 1);
  return (1 - ratio) / (1 - std::pow(ratio, n + 1));
}

double load_seconds(const StepModel& model) {
  const double threads = std::max(model.threads, 1);
  const double cpu = positive(model.load_cpu_s);
  const double by_threads = (cpu + positive(model.load_wait_s)) / threads;
  return model.cores > 0 ? std::max(by_threads, cpu / model.cores) : by_threads;
}

double squared_variation(double count, double sum, double squares) {
  if (count < 2 || sum <= 0) return 0;
  const double mean = sum / count;
  return std::clamp(squares / count / (mean * mean) - 1, 0.0, 1.0);
}

}  // namespace

double step_seconds(const StepModel& model) {
  const double x = positive(model.consume_s), y = load_seconds(model);
  double step = x + y;
  if (model.prefetch > 0) {
    const double regular = std::max(x, y), irregular = x + empty_share(x, y, model.prefetch) * y;
    step = regular + std::clamp(model.variation, 0.0, 1.0) * std::max(irregular - regular, 0.0);
  }
  if (model.cores <= 0) return step;
  return std::max(step, (positive(model.load_cpu_s) + positive(model.consume_cpu_s)) / model.cores);
}

GainPrediction predict_gain(const StepModel& before, const StepModel& after, double measured_s) {
  const double now = step_seconds(before), then = step_seconds(after);
  if (now <= 0 || then <= 0) return {};
  GainPrediction prediction{now / then, std::numeric_limits<double>::infinity(), 0};
  for (const double variation : {0.0, before.variation, 1.0}) {
    for (const bool competes : {false, true}) {
      StepModel a = before, b = after;
      a.variation = b.variation = variation;
      if (!competes) a.consume_cpu_s = b.consume_cpu_s = 0;
      const double a_s = step_seconds(a), b_s = step_seconds(b);
      const double unexplained = std::max(positive(measured_s) - a_s, 0.0);
      for (const double gain : {a_s / b_s, (a_s + unexplained) / (b_s + unexplained)}) {
        prediction.low = std::min(prediction.low, gain);
        prediction.high = std::max(prediction.high, gain);
      }
    }
  }
  return prediction;
}

GainPrediction bound_gain(const StepModel& model, StepSide side, double measured_s) {
  const double now = std::max(step_seconds(model), positive(measured_s));
  StepModel rest = model;
  if (side == StepSide::kConsumer)
    rest.consume_s = rest.consume_cpu_s = 0;
  else
    rest.load_cpu_s = rest.load_wait_s = 0;
  rest.variation = 0;
  const double then = step_seconds(rest);
  if (now <= 0 || then <= 0) return {};
  return {0, 1, now / then};
}

StepModel step_model_of(const Profile& profile) {
  StepModel model;
  model.threads = std::max(profile.loader_threads, 1);
  model.prefetch = profile.prefetch_batches;
  double variation = 0;
  for (const StageProfile& stage : profile.stages) {
    if (stage.name == "wait" || stage.samples <= 0) continue;
    const double batches =
        static_cast<double>(stage.samples) / static_cast<double>(std::max<std::int64_t>(profile.batch_samples, 1));
    const double busy = 1e-9 * static_cast<double>(stage.busy_ns) / batches;
    const double cpu = std::min(1e-9 * static_cast<double>(stage.cpu_ns) / batches, busy);
    model.load_cpu_s += cpu;
    model.load_wait_s += busy - cpu;
    // Of a batch: the times of its samples add up.
    variation = std::max(variation, squared_variation(static_cast<double>(stage.samples),
                                                      1e-3 * static_cast<double>(stage.busy_ns), stage.squares_us2) /
                                        static_cast<double>(std::max<std::int64_t>(profile.batch_samples, 1)));
  }
  const ConsumerProfile& consumer = profile.consumer;
  if (consumer.batches > 0) {
    model.consume_s = 1e-9 * static_cast<double>(consumer.busy_ns) / static_cast<double>(consumer.batches);
    variation += squared_variation(static_cast<double>(consumer.batches), 1e-3 * static_cast<double>(consumer.busy_ns),
                                   consumer.squares_us2);
  }
  model.variation = std::min(variation / 2, 1.0);
  return model;
}

}  // namespace unstarve
