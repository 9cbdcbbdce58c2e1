#include "unstarve/jobs/compress/accuracy.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "unstarve/jobs/compress/int8_steps.h"

namespace unstarve {

TEST_CASE("the interval of a share is Wilson's") {
  const ShareInterval some = share_interval(90, 100);
  CHECK(some.share == 0.9);
  CHECK(some.low == Approx(0.8256).margin(1e-4));  // R: prop.test(90, 100, correct = FALSE)
  CHECK(some.high == Approx(0.9448).margin(1e-4));
  CHECK(share_interval(0, 20).low == 0);
  CHECK(share_interval(0, 20).high == Approx(0.1611).margin(1e-4));
  CHECK(share_interval(20, 20).high == Approx(1));
  CHECK(share_interval(0, 0).low == 0);
  CHECK(share_interval(0, 0).high == 1);
}

TEST_CASE("the loss counts what only one of the models has right") {
  std::vector<bool> before(1000, true), after(1000, true);
  for (std::size_t i = 0; i < 30; ++i) after[i] = false;
  for (std::size_t i = 30; i < 40; ++i) before[i] = false;
  const ShareInterval loss = accuracy_loss(before, after);
  CHECK(loss.share == Approx(0.02));
  CHECK(loss.low > 0.005);
  CHECK(loss.high < 0.035);
  CHECK(accuracy_loss(after, before).share == Approx(-0.02));
  const ShareInterval none = accuracy_loss(before, before);
  CHECK(none.share == 0);
  CHECK(none.low == Approx(-none.high));
  CHECK(none.high > 0);
}

TEST_CASE("the interval of a loss contains the truth in about 95 of 100 samples") {
  std::mt19937 numbers(5);
  std::uniform_real_distribution<double> draw(0, 1);
  constexpr double kLoss = 0.01;  // 2.5 % lost, 1.5 % gained
  int inside = 0;
  for (int sample = 0; sample < 2000; ++sample) {
    std::vector<bool> before(500, true), after(500, true);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double u = draw(numbers);
      if (u < 0.025)
        after[i] = false;
      else if (u < 0.04)
        before[i] = false;
    }
    const ShareInterval loss = accuracy_loss(before, after);
    inside += loss.low <= kLoss && kLoss <= loss.high ? 1 : 0;
  }
  CHECK(inside > 2000 * 0.93);
  CHECK(inside < 2000 * 0.98);
}

TEST_CASE("the divergence of softmax is that of the formula, and 0 for outputs that differ by a constant") {
  const std::vector<float> expected{0, 1, 2, 5, 5, 5}, shifted{7, 8, 9, -1, -1, -1}, other{2, 1, 0, 5, 5, 6};
  CHECK(mean_divergence(expected, shifted, 3) == Approx(0).margin(1e-6));
  const double z = 1 + std::exp(1.0) + std::exp(2.0), w = 2 + std::exp(1.0);
  const double first = (1 * (0.0 - 2) + std::exp(2.0) * (2.0 - 0)) / z;
  const double second =
      (std::log(1 / 3.0) - std::log(1 / w)) * 2 / 3 + (std::log(1 / 3.0) - std::log(std::exp(1.0) / w)) / 3;
  CHECK(mean_divergence(expected, other, 3) == Approx((first + second) / 2));
  CHECK(mean_divergence(std::vector<float>{1e30F, -1e30F}, std::vector<float>{1e30F, -1e30F}, 2) == Approx(0));
}

TEST_CASE("the largest difference is a share of the largest magnitude") {
  CHECK(largest_difference(std::vector<float>{1, -8, 2}, std::vector<float>{1, -6, 2.5F}) == 0.25);
  CHECK(largest_difference(std::vector<float>{0, 0}, std::vector<float>{0, 0}) == 0);
  CHECK(std::isinf(largest_difference(std::vector<float>{0, 0}, std::vector<float>{0, 1})));
}

TEST_CASE("layers that save nothing return first, then those with most divergence per saved time") {
  CHECK(order_of_return({{0, 2, 0.1}, {1, 1, 0.5}, {2, -0.1, 0}, {3, 4, 0.1}, {4, 0.1, 0.2}}) ==
        std::vector<std::size_t>{2, 4, 1, 0, 3});
}

TEST_CASE("the number of layers that return is found in both halves, in at most 8 trials") {
  std::vector<std::size_t> tried;
  const auto found = [&](std::size_t layers, std::size_t needed) {
    tried.clear();
    return least_accurate(layers - 1, [&](std::size_t count) {
      tried.push_back(count);
      return count >= needed;
    });
  };
  CHECK(found(54, 40) == 43);
  CHECK(tried == std::vector<std::size_t>{1, 2, 4, 8, 16, 32, 43, 37});
  CHECK(found(54, 20) == 20);
  CHECK(tried == std::vector<std::size_t>{1, 2, 4, 8, 16, 32, 24, 20});
  CHECK(found(11, 1) == 1);
  CHECK(tried == std::vector<std::size_t>{1});
  for (std::size_t needed = 1; needed < 11; ++needed) CHECK(found(11, needed) == needed);
  CHECK_FALSE(found(11, 11));
  CHECK(tried == std::vector<std::size_t>{1, 2, 4, 7, 9, 10});
  CHECK(found(2, 1) == 1);
  CHECK_FALSE(found(1, 1));
  CHECK(tried.empty());
}

}  // namespace unstarve
