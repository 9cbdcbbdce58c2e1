#include "unstarve/jobs/training/phase_times.h"

#include <algorithm>
#include <numeric>

namespace unstarve {
namespace {

bool is_full(const EpochValues& values, int image_size) { return values == EpochValues{image_size, 1, 1}; }

double rate_of(std::int64_t samples, double seconds) { return static_cast<double>(samples) / std::max(seconds, 1e-9); }

// Sets the rate with full values.
void find_full_rate(std::span<const PhaseTimes> phases, int image_size, ProgressiveEffect& effect) {
  std::int64_t samples = 0;
  double seconds = 0;
  const PhaseTimes* last = nullptr;
  for (const PhaseTimes& phase : phases) {
    if (phase.steps == 0) continue;
    last = &phase;
    if (!is_full(phase.phase.values, image_size)) continue;
    samples += phase.samples;
    seconds += phase.seconds;
  }
  effect.full_rate_measured = samples > 0;
  if (effect.full_rate_measured) {
    effect.full_rate = rate_of(samples, seconds);
  } else {
    const double scale = static_cast<double>(last->phase.values.image_size) / image_size;
    effect.full_rate = rate_of(last->samples, last->seconds) * scale * scale;
  }
}

}  // namespace

std::vector<PhaseTimes> times_of(std::span<const TrainPhase> phases, const TrainHistory& history,
                                 const EpochSteps& epochs) {
  std::vector<PhaseTimes> result;
  for (const TrainPhase& phase : phases) result.push_back({phase, 0, 0, 0, 0, 0, {}});
  std::int64_t step = history.steps - std::accumulate(history.epochs.begin(), history.epochs.end(), std::int64_t{0},
                                                      [](std::int64_t n, const EpochTimes& e) { return n + e.steps; });
  for (const EpochTimes& epoch : history.epochs) {
    const auto after = std::upper_bound(phases.begin(), phases.end(), epoch.epoch,
                                        [](auto e, const TrainPhase& phase) { return e < std::int64_t{phase.epoch}; });
    if (after == phases.begin()) continue;
    PhaseTimes& times = result[static_cast<std::size_t>(after - phases.begin() - 1)];
    times.steps += epoch.steps;
    times.samples += epoch.samples;
    times.full_samples += static_cast<double>(epoch.samples) * static_cast<double>(epochs.full()) /
                          static_cast<double>(epochs.of_epoch(epoch.epoch));
    times.seconds += epoch.seconds;
    times.wait_seconds += epoch.wait_seconds;
    for (const EvaluationPoint& point : history.evaluations)
      if (point.step > step && point.step <= step + epoch.steps) times.accuracy = point.accuracy;
    step += epoch.steps;
  }
  return result;
}

std::optional<ProgressiveEffect> effect_of(std::span<const PhaseTimes> phases, int image_size) {
  if (std::ranges::all_of(phases, [](const PhaseTimes& phase) { return phase.steps == 0; })) return {};
  ProgressiveEffect effect;
  find_full_rate(phases, image_size, effect);
  for (const PhaseTimes& phase : phases) {
    if (phase.steps == 0) continue;
    const double without = seconds_without(phase, effect);
    const double left_out = (phase.full_samples - static_cast<double>(phase.samples)) / effect.full_rate;
    const EpochValues& values = phase.phase.values;
    effect.seconds += phase.seconds;
    effect.seconds_without += without;
    effect.saved_by_samples += left_out;
    const double rest = without - left_out - phase.seconds;
    if (values.image_size < image_size)
      effect.saved_by_image_size += rest;
    else if (values.augmentation < 1)
      effect.saved_by_augmentation += rest;
    else
      effect.saved_by_samples += rest;  // the rate of phases whose samples alone differ
  }
  return effect;
}

double seconds_without(const PhaseTimes& phase, const ProgressiveEffect& effect) {
  return phase.full_samples / effect.full_rate;
}

}  // namespace unstarve
