// The analysis on synthetic machines whose rate and memory are known.

#include "unstarve/jobs/finders/batch_curve.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "unstarve/core/random.h"

namespace unstarve {
namespace {

RateEstimate rate_within(double rate, double share) { return {rate, rate * (1 - share), rate * (1 + share), 6}; }

BatchPoint point_of(int batch, double rate, double share = 0.003) {
  BatchPoint point;
  point.batch = batch;
  point.together = rate_within(rate, share);
  point.alone = rate_within(rate * 1.25, share);
  return point;
}

// The rate of a step that takes a constant time and a time per sample: 1000 per second for large batches.
double rate_at(int batch) { return 1000.0 * batch / (batch + 4); }

std::vector<BatchPoint> doubling(int last) {
  std::vector<BatchPoint> points;
  for (int batch = 1; batch <= last; batch *= 2) points.push_back(point_of(batch, rate_at(batch)));
  return points;
}

}  // namespace

TEST_CASE("a rate is the geometric mean of its blocks, with an interval around it") {
  const std::vector<double> blocks{90, 100, 110, 100};
  const RateEstimate estimate = estimate_rate(blocks);
  CHECK(estimate.rate == Approx(std::pow(90.0 * 100 * 110 * 100, 0.25)));
  CHECK(estimate.low < estimate.rate);
  CHECK(estimate.high > estimate.rate);
  CHECK(estimate.blocks == 4);
  CHECK(std::isinf(estimate_rate(std::vector<double>{100}).high));
}

TEST_CASE("utilisation is the rate with the loader relative to that without") {
  CHECK(point_of(8, 400).utilisation() == Approx(0.8));
  BatchPoint point = point_of(8, 400);
  point.alone.rate = 390;  // noise
  CHECK(point.utilisation() == 1);
  CHECK(BatchPoint{}.utilisation() == 0);
  CHECK(point.step_ms() == Approx(20));
}

TEST_CASE("predicted memory is an upper bound for a constant and a part per sample") {
  Random random(3, 0, 0, 0);
  for (int machine = 0; machine < 200; ++machine) {
    const std::size_t base = 1 + random.below(1'000'000), fixed = random.below(1'000'000);
    const std::size_t each = random.below(100'000);
    const auto truth = [&](int batch) { return base + fixed + each * static_cast<std::size_t>(batch); };
    std::vector<BatchMemory> points{{0, base}};
    for (int batch = 1; batch <= 64; batch *= 2) {
      points.push_back({batch, truth(batch)});
      CAPTURE(base, fixed, each, batch);
      std::size_t before = 0;
      for (const int next : {batch, batch + 1, 2 * batch}) {
        const std::size_t predicted = predict_memory(points, next);
        CHECK(predicted >= truth(next));
        CHECK(predicted <= truth(next) + fixed + 1);
        CHECK(predicted >= before);
        before = predicted;
      }
      const std::size_t limit = truth(3 * batch);
      const std::optional<int> largest = largest_within(points, limit);
      if (largest && *largest > 0) {
        CHECK(predict_memory(points, *largest) <= limit + 1);
        CHECK(predict_memory(points, *largest + 1) + 1 >= limit);
      }
    }
  }
}

TEST_CASE("memory that shrinks or stays the same is predicted not to grow") {
  const std::vector<BatchMemory> points{{0, 500}, {1, 480}, {2, 470}};
  CHECK(predict_memory(points, 4) == 470);
  CHECK_FALSE(largest_within(points, 1000));
  CHECK(largest_within(points, 400) == 0);
}

TEST_CASE("memory that grows faster than in proportion is predicted from its latest growth") {
  const std::vector<BatchMemory> points{{0, 100}, {1, 110}, {2, 130}, {4, 190}};
  CHECK(predict_memory(points, 8) == 190 + 4 * 30);
}

TEST_CASE("the knee is the smallest size that reaches 95 % of the best rate") {
  const auto points = doubling(1024);
  CHECK(points[best_point(points)].batch == 1024);
  CHECK(points[knee_of(points)].batch == 128);  // the rate at 64 is 0.941 / 0.996 = 94.5 % of the best one
}

TEST_CASE("an interval that contains 95 % of the best rate counts, unless it is wide") {
  const RateEstimate best = rate_within(100, 0.01);
  CHECK(reaches_best(rate_within(95.1, 0.01), best));
  CHECK(reaches_best(rate_within(93, 0.03), best));
  CHECK_FALSE(reaches_best(rate_within(93, 0.02), best));
  CHECK_FALSE(reaches_best(rate_within(80, 0.3), best));
  CHECK(reaches_best(rate_within(99, 0.3), best));  // its mean does
}

TEST_CASE("one size is its own knee, and a falling rate has it at the first size") {
  const std::vector<BatchPoint> one{point_of(4, 100)};
  CHECK(knee_of(one) == 0);
  CHECK_FALSE(next_refinement(one));
  const std::vector<BatchPoint> falling{point_of(4, 100), point_of(8, 90), point_of(16, 80)};
  CHECK(knee_of(falling) == 0);
  CHECK(best_point(falling) == 0);
}

TEST_CASE("refinement halves the distance to the size below the knee, in multiples of 8") {
  std::vector<BatchPoint> points = doubling(1024);
  std::vector<int> sizes;
  while (const auto next = next_refinement(points)) {
    sizes.push_back(*next);
    const auto at = std::find_if(points.begin(), points.end(), [&](const auto& p) { return p.batch > *next; });
    points.insert(at, point_of(*next, rate_at(*next)));
  }
  CHECK(sizes == std::vector<int>{96, 80, 72});
  CHECK(points[knee_of(points)].batch == 72);
  // Below 8 every size counts; between 8 and 16 there is no multiple.
  CHECK(next_refinement(std::vector<BatchPoint>{point_of(4, 50), point_of(8, 100)}) == 6);
  CHECK_FALSE(next_refinement(std::vector<BatchPoint>{point_of(8, 50), point_of(16, 100)}));
  CHECK_FALSE(next_refinement(std::vector<BatchPoint>{point_of(1, 50), point_of(2, 100)}));
}

TEST_CASE("sizes are rounded to multiples of 8, and the size next to one is not one") {
  CHECK(round_to_eight(7) == 7);
  CHECK(round_to_eight(8) == 8);
  CHECK(round_to_eight(63) == 56);
  CHECK(next_to_multiple(64) == 60);
  CHECK(next_to_multiple(16) == 12);
  CHECK_FALSE(next_to_multiple(8));
  CHECK_FALSE(next_to_multiple(60));
}

TEST_CASE("layers with channels that are not multiples of 8 are listed, but not images, classes and depthwise groups") {
  std::vector<LayerShape> layers{{"conv1", 3, 64, 224, 7, 2, 3},
                                 {"layer1.0.conv1", 64, 60, 56, 3, 1, 1},
                                 {"features.1.0", 32, 32, 112, 3, 1, 1, 32},
                                 {"fc", 512, 10}};
  auto unaligned = unaligned_layers(layers);
  REQUIRE(unaligned.size() == 1);
  CHECK(unaligned[0].name == "layer1.0.conv1");
  layers[0].out = 12;
  layers[3].in = 500;
  unaligned = unaligned_layers(layers);
  REQUIRE(unaligned.size() == 3);
  CHECK(unaligned[0].name == "conv1");
  CHECK(unaligned[2].name == "fc");
  CHECK(unaligned_layers({}).empty());
}

TEST_CASE("the channels of the heaviest layer are measured, if they are multiples of 8 and it has no groups") {
  const std::vector<LayerShape> layers{{"conv1", 3, 64, 224, 7, 2, 3},
                                       {"small", 64, 64, 14, 3, 1, 1},
                                       {"heavy", 64, 128, 56, 3, 2, 1},
                                       {"grouped", 128, 128, 112, 3, 1, 1, 2},
                                       {"narrow", 8, 64, 224, 3, 1, 1}};
  const auto heaviest = heaviest_aligned_layer(layers);
  REQUIRE(heaviest);
  CHECK(heaviest->name == "heavy");
  CHECK(heaviest->macs() == 28.0 * 28 * 3 * 3 * 64 * 128);
  const LayerShape unaligned = with_unaligned_channels(*heaviest);
  CHECK(unaligned.in == 60);
  CHECK(unaligned.out == 124);
  CHECK(unaligned.side == 56);
  CHECK_FALSE(heaviest_aligned_layer(std::span(layers).first(1)));
  CHECK(LayerShape{"fc", 512, 10}.macs() == 5120);
}

}  // namespace unstarve
