#pragma once
// The analysis of a learning-rate sweep: which learning rate its losses suggest.
//
//   losses ──▶ smoothed_losses(): average and slope ──▶ suggest_rate(): steepest descent, lowest loss
//
// Average: the weight of a loss falls by a factor e for each e-fold of the rate that follows it, and the sum is divided
//          by the sum of the weights (bias correction). log(rate) is averaged with the same weights, and a smoothed
//          loss belongs to that rate, so that the average does not shift the curve. The number of updates, their
//          spacing and the first rate do not change over which rates the average extends.
// Slope:   the change of the smoothed loss over 1.5 e-folds around a rate, for each tenfold rate. If the loss falls
//          clearly below that of chance, higher losses count as that of chance: from there the loss falls at very low
//          rates, because large initial logits shrink, not because the network learns.
// Start:   the first e-fold of rates is ignored, because too few losses are averaged there.
//
// Threads: pure functions.

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/enum_words.h"

namespace unstarve {

// One update of the weights.
struct RatePoint {
  double rate = 0;
  double loss = 0;  // after the update, of the batches of the next one
};

enum class SweepEnd {
  kComplete,   // all rates
  kDiverged,   // the smoothed loss exceeded a multiple of its minimum
  kNotFinite,  // the loss after the update with `last_rate` was not finite; it is not among the points
};
template <>
inline constexpr std::array<std::string_view, 3> kWords<SweepEnd>{"complete", "diverged", "not finite"};

struct RateSweep {
  double first_loss = 0;  // before the first update
  std::vector<RatePoint> points;
  double last_rate = 0;  // of the last update
  SweepEnd end = SweepEnd::kComplete;
  // The loss of equal probabilities of all classes, ln(classes); infinity: unknown.
  double chance_loss = std::numeric_limits<double>::infinity();
};

struct SmoothedLoss {
  double rate = 0;
  double loss = 0;
  std::optional<double> slope{};    // per tenfold rate; none near both ends
  std::optional<double> descent{};  // the slope if losses above chance count as chance, once the network learns
};

// One for each point. Precondition: rates are positive and rise, losses are finite.
[[nodiscard]] std::vector<SmoothedLoss> smoothed_losses(const RateSweep& sweep);

// The index of the first point after the first e-fold of rates; the number of points if there is none.
[[nodiscard]] std::size_t end_of_noisy_start(std::span<const RatePoint> points);

// Whether the latest smoothed loss exceeds `factor` times the lowest one; both after the noisy start.
[[nodiscard]] bool has_diverged(std::span<const RatePoint> points, double factor);

// A learning rate, or why there is none: one sentence.
struct SuggestedRate {
  std::optional<double> rate;
  std::string reason;
};

struct RateSuggestion {
  SuggestedRate steepest;         // where the smoothed loss falls most steeply
  SuggestedRate tenth;            // a tenth of the rate at the lowest smoothed loss
  std::optional<double> slope{};  // at the steepest descent
  SmoothedLoss lowest;            // rate and loss 0 without points after the noisy start
};

// Neither rate is suggested unless the loss falls by 8 standard deviations of the smoothed loss and by 1 % before its
// minimum: of 100 sweeps of a constant loss with noise, about one falls by that much. Nor is one suggested that is next
// to the first or last rate of the sweep, which would depend on the choice of these rates.
[[nodiscard]] RateSuggestion suggest_rate(const RateSweep& sweep);

}  // namespace unstarve
