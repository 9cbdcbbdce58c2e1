#include "unstarve/train/rate_sweep.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

// One update with `rate`. Returns the mean loss of its batches before the update.
double update(Trainer& trainer, BatchSource& source, int accumulate, double rate) {
  double sum = 0;
  for (int i = 1; i <= accumulate; ++i) {
    HostBatch batch;
    if (!source.next(batch))
      throw Error(ErrorKind::kInput, "learning-rate sweep: the data ended; expected an endless source");
    trainer.load(batch);
    trainer.step(rate, i == accumulate);
    sum += trainer.loss();
  }
  return sum / accumulate;
}

bool stop_of_any_rank(Trainer& trainer, const std::stop_token& stop) {
  std::array<double, 1> requested{stop.stop_requested() ? 1.0 : 0.0};
  trainer.largest_of_ranks(requested);
  return requested[0] != 0;
}

RateSweep sweep_rates(Trainer& trainer, BatchSource& source, int accumulate, const RateSweepOptions& options) {
  const double growth = std::log(options.to / options.from) / (options.updates - 1);
  RateSweep sweep;
  for (int i = 0; i <= options.updates; ++i) {
    if (stop_of_any_rank(trainer, options.stop)) throw Error(ErrorKind::kCancelled, "learning-rate sweep was stopped");
    // The update after the last rate is for its loss only.
    const double rate = i < options.updates ? options.from * std::exp(growth * i) : sweep.last_rate;
    const double loss = update(trainer, source, accumulate, rate);
    if (!std::isfinite(loss)) {
      sweep.end = SweepEnd::kNotFinite;
      return sweep;
    }
    if (i == 0)
      sweep.first_loss = loss;
    else
      sweep.points.push_back({sweep.last_rate, loss});
    sweep.last_rate = rate;
    if (i > 0 && options.report) options.report(sweep);
    if (has_diverged(sweep.points, options.diverged)) {
      sweep.end = SweepEnd::kDiverged;
      return sweep;
    }
  }
  return sweep;
}

}  // namespace

void check_sweep(const RateSweepOptions& options) {
  if (options.from > 0 && options.from < options.to && std::isfinite(options.to) && options.updates >= 2) return;
  throw Error(
      ErrorKind::kArgument,
      fmt::format("learning-rate sweep: found {} updates from {} to {}; expected two or more (--steps), and rates "
                  "above 0 that rise (--from below --to)",
                  options.updates, options.from, options.to));
}

RateSweep find_learning_rate(Trainer& trainer, BatchSource& source, int accumulate, const RateSweepOptions& options) {
  check_sweep(options);
  const auto before = trainer.snapshot({});
  try {
    RateSweep sweep = sweep_rates(trainer, source, accumulate, options);
    trainer.restore(*before);
    return sweep;
  } catch (...) {
    trainer.restore(*before);
    throw;
  }
}

}  // namespace unstarve
