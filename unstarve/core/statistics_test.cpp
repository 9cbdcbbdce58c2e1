#include "unstarve/core/statistics.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "unstarve/core/error.h"

using namespace unstarve;

// Reference values: the regularised incomplete beta function inverted with 30 digits (mpmath), equal to
// scipy.stats.t.ppf(0.975, degrees).
TEST_CASE("Student's t quantile is exact for few, many and very many degrees") {
  const std::pair<int, double> known[] = {
      {1, 12.7062047361747},     {2, 4.302652729749464},    {3, 3.18244630528371},     {4, 2.776445105197794},
      {5, 2.570581835636316},    {10, 2.228138851986275},   {29, 2.045229642132704},   {30, 2.042272456301238},
      {100, 1.983971518523552},  {999, 1.96234146113345},   {1000, 1.962339080826408}, {1001, 1.96233670528088},
      {5000, 1.960438551706508}, {100000, 1.95998770753461}};
  for (const auto& [degrees, t] : known) {
    INFO(degrees);
    CHECK(student_t_975(degrees) == Approx(t).epsilon(0).margin(1e-9));
  }
  for (int degrees = 1; degrees < 1100; ++degrees) CHECK(student_t_975(degrees) > student_t_975(degrees + 1));
  CHECK(student_t_975(std::numeric_limits<int>::max()) == Approx(1.959963984540054));
  CHECK_THROWS_AS(student_t_975(0), Error);
}

TEST_CASE("the ratio is the geometric mean, and its interval is Student's t over the logarithms") {
  const std::vector<double> ours{110, 104, 121, 99, 118, 107}, peer{100, 101, 103, 98, 105, 100};
  const RatioInterval r = ratio_interval(ours, peer);
  CHECK(r.pairs == 6);
  CHECK(r.ratio == Approx(1.083319099812837).epsilon(1e-12));
  CHECK(r.low == Approx(1.0213386567286336).epsilon(1e-9));
  CHECK(r.high == Approx(1.1490608568349845).epsilon(1e-9));
  const RatioInterval back = ratio_interval(peer, ours);
  CHECK(back.low == Approx(1 / r.high));
  CHECK(back.high == Approx(1 / r.low));
}

TEST_CASE("equal ratios have an interval of zero width") {
  const std::vector<double> a{2, 4, 6}, b{1, 2, 3};
  const RatioInterval r = ratio_interval(a, b);
  CHECK(r.ratio == Approx(2));
  CHECK(r.low == Approx(2));
  CHECK(r.high == Approx(2));
}

TEST_CASE("one pair has an infinite interval") {
  const std::vector<double> a{3}, b{2};
  const RatioInterval r = ratio_interval(a, b);
  CHECK(r.ratio == Approx(1.5));
  CHECK(r.low == 0);
  CHECK(std::isinf(r.high));
}

TEST_CASE("rates that are not positive, or of unequal number, are rejected") {
  const std::vector<double> one{1}, two{1, 2}, zero{0}, negative{-1}, nan{std::nan("")}, none;
  const std::vector<double> infinite{std::numeric_limits<double>::infinity()};
  CHECK_THROWS_AS(ratio_interval(one, two), Error);
  CHECK_THROWS_AS(ratio_interval(none, none), Error);
  for (const auto& bad : {zero, negative, nan, infinite}) {
    CHECK_THROWS_AS(ratio_interval(bad, one), Error);
    CHECK_THROWS_AS(ratio_interval(one, bad), Error);
  }
}

// Reference values: numpy.quantile.
TEST_CASE("quantiles interpolate between order statistics") {
  const std::vector<double> values{7, 1, 3, 10, 2.5};
  CHECK(quantile(values, 0) == 1);
  CHECK(quantile(values, 0.1) == Approx(1.6));
  CHECK(quantile(values, 0.25) == 2.5);
  CHECK(median(values) == 3);
  CHECK(quantile(values, 0.9) == Approx(8.8));
  CHECK(quantile(values, 0.95) == Approx(9.4));
  CHECK(quantile(values, 1) == 10);
  CHECK(values[0] == 7);  // a copy was sorted
  const std::vector<double> one{4};
  CHECK(quantile(one, 0.3) == 4);
}

TEST_CASE("a quantile of no values, or outside [0, 1], is rejected") {
  const std::vector<double> none, one{4};
  CHECK_THROWS_AS(quantile(none, 0.5), Error);
  CHECK_THROWS_AS(quantile(one, 1.01), Error);
  CHECK_THROWS_AS(quantile(one, -0.01), Error);
  CHECK_THROWS_AS(quantile(one, std::nan("")), Error);
}

TEST_CASE("the interval of a median is a pair of order statistics that covers it in 95 % of cases") {
  std::vector<double> values;
  for (int n = 1; n <= 5; ++n) {
    values.push_back(n);
    CHECK(median_interval(values).low == 1);
    CHECK(median_interval(values).high == n);
  }
  // Ranks of tables of the sign test: 6 to 8 values: the extremes; 9: 2 and 8; 20: 6 and 15; 100: 40 and 61.
  for (const auto& [n, rank] : {std::pair{6, 1}, {8, 1}, {9, 2}, {11, 2}, {12, 3}, {20, 6}, {100, 40}}) {
    CAPTURE(n);
    values.clear();
    for (int i = n; i >= 1; --i) values.push_back(i);
    CHECK(median_interval(values).low == rank);
    CHECK(median_interval(values).high == n + 1 - rank);
  }
  values.assign(3000, 2.5);
  CHECK(median_interval(values).high == 2.5);
  CHECK_THROWS_AS(median_interval({}), Error);
}

TEST_CASE("the interval of a share is Wilson's") {
  // statsmodels.stats.proportion.proportion_confint(hits, trials, method="wilson")
  const ConfidenceInterval half = wilson_interval(50, 100), none = wilson_interval(0, 10),
                           all = wilson_interval(10, 10);
  CHECK(half.low == Approx(0.403831530).margin(1e-8));
  CHECK(half.high == Approx(0.596168470).margin(1e-8));
  CHECK(none.low == 0);
  CHECK(none.high == Approx(0.277532799).margin(1e-8));
  CHECK(all.low == Approx(1 - none.high));
  CHECK(all.high == 1);
  CHECK_THROWS_AS(wilson_interval(2, 1), Error);
  CHECK_THROWS_AS(wilson_interval(0, 0), Error);
}
