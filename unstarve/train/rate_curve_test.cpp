// The analysis of synthetic sweeps whose steepest descent is known.

#include "unstarve/train/rate_curve.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <numbers>

#include "unstarve/core/random.h"

namespace unstarve {
namespace {

struct CurveShape {
  double plateau = 2.3, fall = 1, steepest = -2;  // log10 of the rate
  double noise = 0;                               // standard deviation
  double offset = 0;                              // of log10 of all rates
};

double normal(Random& random) {
  double sum = 0;  // of twelve uniform numbers: variance 1
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random.below(1'000'000)) / 1e6;
  return sum - 6;
}

// A loss that falls around `steepest`, is lowest a decade later and rises from there.
double loss_at(double rate, const CurveShape& shape) {
  const double x = std::log10(rate) - shape.offset;
  return shape.plateau - shape.fall / (1 + std::exp(-(x - shape.steepest) / 0.3)) +
         0.3 * std::exp((x - shape.steepest - 2) / 0.25);
}

RateSweep sweep_with(std::span<const RatePoint> points) {
  RateSweep sweep;
  sweep.points.assign(points.begin(), points.end());
  return sweep;
}

struct Range {
  double from = 1e-6, to = 10;
  int updates = 100;
};

RateSweep sweep_of(const CurveShape& shape, const Range& range, std::uint32_t draw = 0) {
  Random random(11, draw, 0, 0);
  RateSweep sweep;
  sweep.first_loss = shape.plateau;
  for (int i = 0; i < range.updates; ++i) {
    const double rate = range.from * std::pow(range.to / range.from, static_cast<double>(i) / (range.updates - 1));
    sweep.points.push_back({rate, loss_at(rate, shape) + shape.noise * normal(random)});
    sweep.last_rate = rate;
    if (has_diverged(sweep.points, 4)) {
      sweep.end = SweepEnd::kDiverged;
      break;
    }
  }
  return sweep;
}

// log10 of the suggested rate; NaN without one.
double suggested(const CurveShape& shape, const Range& range, std::uint32_t draw = 0) {
  const RateSuggestion found = suggest_rate(sweep_of(shape, range, draw));
  return found.steepest.rate ? std::log10(*found.steepest.rate) : std::nan("");
}

}  // namespace

TEST_CASE("smoothing keeps constants and straight lines, at any spacing") {
  std::vector<RatePoint> constant, line;
  double rate = 1e-5;
  for (int i = 0; i < 60; ++i) {
    constant.push_back({rate, 2.5});
    line.push_back({rate, 4 + 0.3 * std::log10(rate)});
    rate *= i % 3 == 0 ? 1.5 : 1.1;
  }
  for (const SmoothedLoss& point : smoothed_losses(sweep_with(constant))) {
    CHECK(point.loss == Approx(2.5));
    if (point.slope) CHECK(*point.slope == Approx(0).margin(1e-9));
  }
  int slopes = 0;
  for (const SmoothedLoss& point : smoothed_losses(sweep_with(line))) {
    CHECK(point.loss == Approx(4 + 0.3 * std::log10(point.rate)));
    if (!point.slope) continue;
    CHECK(*point.slope == Approx(0.3));
    ++slopes;
  }
  CHECK(slopes > 30);
}

TEST_CASE("above chance the slope is that of the loss; for the descent such losses are chance") {
  RateSweep sweep = sweep_of({}, {});
  sweep.chance_loss = 2;  // the plateau is above it
  const auto highest = [](const std::vector<SmoothedLoss>& points, auto member) {
    double found = 0;
    for (const SmoothedLoss& point : points)
      if (point.loss > 2.1) found = std::max(found, (point.*member).value_or(0));
    return found;
  };
  const auto smoothed = smoothed_losses(sweep);
  CHECK(highest(smoothed, &SmoothedLoss::slope) > 1);
  CHECK(highest(smoothed, &SmoothedLoss::descent) < 0.7);  // from the minimum of 1.3 to 2 at most
}

TEST_CASE("the first smoothed loss is the first loss, later ones forget it with the rate") {
  std::vector<RatePoint> points;
  for (int i = 0; i < 30; ++i) points.push_back({std::exp(0.2 * i), i == 0 ? 1.0 : 0.0});
  const auto smoothed = smoothed_losses(sweep_with(points));
  CHECK(smoothed[0].loss == Approx(1));
  const double weight = std::exp(-0.2 * 20);  // 4 e-folds later
  CHECK(smoothed[20].loss == Approx(weight * (1 - std::exp(-0.2)) / (1 - std::exp(-0.2 * 21))));
}

TEST_CASE("the noisy start is an e-fold of the rate") {
  std::vector<RatePoint> points;
  for (int i = 0; i < 10; ++i) points.push_back({1e-4 * std::exp(0.3 * i), 1});
  CHECK(end_of_noisy_start(points) == 4);
  CHECK(end_of_noisy_start({}) == 0);
  CHECK(end_of_noisy_start(std::span(points).first(3)) == 3);
}

TEST_CASE("the suggestion is at the steepest descent, the second one a tenth of the minimum") {
  const RateSuggestion found = suggest_rate(sweep_of({}, {}));
  REQUIRE(found.steepest.rate);
  CHECK(std::log10(*found.steepest.rate) == Approx(-2).margin(0.15));
  REQUIRE(found.slope);
  CHECK(*found.slope < -0.4);
  REQUIRE(found.tenth.rate);
  CHECK(*found.tenth.rate == Approx(found.lowest.rate / 10));
  CHECK(std::log10(found.lowest.rate) == Approx(-0.9).margin(0.3));
  CHECK_THAT(found.steepest.reason, Catch::Contains("falls most steeply"));
  CHECK_THAT(found.tenth.reason, Catch::Contains("a tenth of"));
}

TEST_CASE("range and number of updates do not change the suggestion") {
  for (const Range range : {Range{1e-8, 100, 200}, Range{1e-7, 10, 100}, Range{1e-5, 10, 100}, Range{1e-4, 10, 100},
                            Range{1e-6, 10, 400}, Range{1e-6, 10, 40}, Range{1e-6, 0.3, 100}}) {
    CAPTURE(range.from, range.to, range.updates);
    CHECK(suggested({}, range) == Approx(-2).margin(0.2));
  }
}

TEST_CASE("with noise the suggestion stays within a factor of the steepest descent") {
  CurveShape shape;
  shape.noise = 0.15;
  int close = 0;
  for (std::uint32_t draw = 0; draw < 100; ++draw) close += std::abs(suggested(shape, {}, draw) + 2) < 0.6;
  CHECK(close >= 95);
}

TEST_CASE("a shift of all rates shifts the suggestion") {
  for (const double offset : {-3.0, -1.0, 1.5}) {
    CurveShape shape;
    shape.offset = offset;
    const double factor = std::pow(10, offset);
    CHECK(suggested(shape, {1e-6 * factor, 10 * factor, 100}) == Approx(suggested({}, {}) + offset));
  }
}

TEST_CASE("a constant loss with noise suggests nothing") {
  CurveShape shape;
  shape.fall = 0;
  shape.offset = 9;  // without the rise
  shape.noise = 0.3;
  int suggestions = 0;
  for (std::uint32_t draw = 0; draw < 200; ++draw) {
    const RateSuggestion found = suggest_rate(sweep_of(shape, {}, draw));
    suggestions += found.steepest.rate || found.tenth.rate;
    if (!found.steepest.rate) CHECK_FALSE(found.steepest.reason.empty());
  }
  CHECK(suggestions <= 8);
  shape.noise = 0;
  RateSweep flat = sweep_of(shape, {});
  CHECK_THAT(suggest_rate(flat).steepest.reason,
             Catch::Contains("no clear descent") && Catch::Contains("Use a higher --to, more --steps"));
  flat.end = SweepEnd::kDiverged;  // higher rates are of no use
  CHECK_THAT(suggest_rate(flat).steepest.reason, Catch::Contains("Use more --steps"));
  flat.end = SweepEnd::kComplete;
  for (std::size_t i = flat.points.size() * 3 / 4; i < flat.points.size(); ++i) flat.points[i].loss += 1;
  CHECK_THAT(suggest_rate(flat).steepest.reason, Catch::Contains("Use more --steps"));
}

TEST_CASE("a sweep that misses the descent says which end to move") {
  // From far above the steepest descent.
  const RateSuggestion above = suggest_rate(sweep_of({}, {0.03, 10, 100}));
  CHECK_FALSE(above.steepest.rate);
  CHECK_THAT(above.steepest.reason, Catch::Contains("--from"));
  // To a rate before it.
  const RateSuggestion below = suggest_rate(sweep_of({}, {1e-6, 0.005, 100}));
  CHECK_FALSE(below.steepest.rate);
  CHECK_FALSE(below.tenth.rate);
  CHECK_THAT(below.steepest.reason, Catch::Contains("--to"));
  // Past the steepest descent, but not past the minimum.
  const RateSuggestion between = suggest_rate(sweep_of({}, {1e-6, 0.06, 100}));
  CHECK(between.steepest.rate);
  CHECK_FALSE(between.tenth.rate);
  CHECK_THAT(between.tenth.reason, Catch::Contains("raise --to"));
}

TEST_CASE("the fall from large initial logits to chance is no descent") {
  // A second, steeper fall by 2 at 1e-5, down to `plateau`.
  const auto with_early_fall = [](const CurveShape& shape) {
    RateSweep sweep = sweep_of(shape, {});
    for (RatePoint& point : sweep.points) point.loss += 2 / (1 + std::exp((std::log10(point.rate) + 5) / 0.2));
    return sweep;
  };
  RateSweep sweep = with_early_fall({});
  CHECK(std::log10(*suggest_rate(sweep).steepest.rate) == Approx(-5).margin(0.3));
  sweep.chance_loss = 2.3;
  const RateSuggestion found = suggest_rate(sweep);
  CHECK(std::log10(*found.steepest.rate) == Approx(-2).margin(0.3));
  CHECK_THAT(found.steepest.reason, Catch::Contains("from 2.300 to"));
  // A loss that stays above chance, and one that begins below it.
  sweep.chance_loss = 1;
  CHECK(std::log10(*suggest_rate(sweep).steepest.rate) == Approx(-5).margin(0.3));
  sweep.chance_loss = 6;
  CHECK(std::log10(*suggest_rate(sweep).steepest.rate) == Approx(-5).margin(0.3));
}

TEST_CASE("short sweeps suggest nothing") {
  RateSweep sweep;
  CHECK_FALSE(suggest_rate(sweep).steepest.rate);
  for (int i = 0; i < 4; ++i) {
    sweep.points.push_back({std::pow(10.0, i - 4), 2.0 - 0.3 * i});
    CHECK_FALSE(suggest_rate(sweep).steepest.rate);
  }
}

TEST_CASE("a sweep of few updates whose last loss is the lowest needs more of them") {
  RateSweep sweep = sweep_with(std::vector<RatePoint>{{1e-5, 2.3}, {10, 1.8}});
  const auto reason = [&] { return suggest_rate(sweep).steepest.reason; };
  CHECK(reason() ==
        "no clear descent: the smoothed loss is lowest at the last rate of the sweep, 10, and 2 updates are "
        "too few for its slope; use more --steps");
  sweep = sweep_with(std::vector<RatePoint>{{1e-5, 2.3}, {1e-2, 1.8}, {1e-1, 2.5}, {1, 3}});
  CHECK_THAT(reason(), Catch::Contains("is lowest at the first rates of the sweep"));
}

TEST_CASE("divergence is judged by the smoothed loss after the noisy start") {
  std::vector<RatePoint> points{{1e-3, 0.001}, {1.1e-3, 5}};
  CHECK_FALSE(has_diverged(points, 4));  // only the start
  points.clear();
  for (int i = 0; i < 40; ++i) points.push_back({1e-3 * std::exp(0.2 * i), 1});
  points.back().loss = 9;  // one outlier
  CHECK_FALSE(has_diverged(points, 4));
  points.back().loss = 100;
  CHECK(has_diverged(points, 4));
}

}  // namespace unstarve
