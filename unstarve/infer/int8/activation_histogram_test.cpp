#include "unstarve/infer/int8/activation_histogram.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace unstarve::infer {
namespace {

std::vector<float> normal(std::size_t count, float deviation) {
  std::mt19937 numbers(3);
  std::normal_distribution<float> draw(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = draw(numbers);
  return values;
}

// Of rounding to `levels` steps up to `limit`, and clipping.
double squared_error(const std::vector<float>& values, double limit, int levels) {
  double sum = 0;
  for (const float value : values) {
    const double magnitude = std::abs(static_cast<double>(value)), step = limit / levels;
    const double error = magnitude - std::min(limit, std::round(magnitude / step) * step);
    sum += error * error;
  }
  return sum;
}

}  // namespace

TEST_CASE("the limit of min-max is the largest magnitude, also of negative values and after the range has grown") {
  ActivationHistogram histogram;
  REQUIRE(histogram.add(std::vector<float>{0.5F, -0.25F, 0}));
  CHECK(histogram.limit(CalibrationMethod::kMinMax, 127) == 0.5);
  REQUIRE(histogram.add(std::vector<float>{-700}));
  CHECK(histogram.limit(CalibrationMethod::kMinMax, 127) == 700);
  CHECK(histogram.largest() == 700);
}

TEST_CASE("percentile leaves out one value of 10,000, and does not count zeros") {
  ActivationHistogram histogram;
  std::vector<float> values(100'000, 1.0F);
  values.resize(1'000'000, 0.0F);
  for (int i = 0; i < 5; ++i) values[static_cast<std::size_t>(i)] = 50;
  REQUIRE(histogram.add(values));
  CHECK(histogram.limit(CalibrationMethod::kPercentile, 255) == Approx(1).margin(0.06));
  for (int i = 0; i < 20; ++i) values[static_cast<std::size_t>(i)] = 50;
  ActivationHistogram more;
  REQUIRE(more.add(values));
  CHECK(more.limit(CalibrationMethod::kPercentile, 255) == Approx(50).margin(0.1));
}

TEST_CASE("the limits do not depend on how many values one call adds") {
  std::vector<float> values = normal(3'001, 1);
  for (std::size_t i = 0; i < values.size(); i += 3) values[i] = 0;
  values[0] = 9;  // the range does not grow afterwards
  for (const std::size_t count : {1, 2, 3, 5, 1023, 1024, 1025, 3001}) {
    ActivationHistogram whole, parts;
    const std::span<const float> rest = std::span(values).subspan(0, values.size() / count * count);
    REQUIRE(whole.add(rest));
    for (std::size_t i = 0; i < rest.size(); i += count) REQUIRE(parts.add(rest.subspan(i, count)));
    for (const CalibrationMethod method : kCalibrationMethods) {
      INFO(count << " " << name_of(method));
      CHECK(parts.limit(method, 127) == whole.limit(method, 127));
    }
  }
}

TEST_CASE("mse finds the limit of least error, within the width of a candidate") {
  const std::vector<float> values = normal(200'000, 2);
  ActivationHistogram histogram;
  for (std::size_t i = 0; i < values.size(); i += 1000) REQUIRE(histogram.add(std::span(values).subspan(i, 1000)));
  const double found = histogram.limit(CalibrationMethod::kMse, 15);
  double best = 0, least = std::numeric_limits<double>::infinity();
  for (double limit = 2; limit < histogram.largest(); limit += 0.02) {
    const double error = squared_error(values, limit, 15);
    if (error < least) least = error, best = limit;
  }
  CHECK(found == Approx(best).epsilon(0.05));
  CHECK(squared_error(values, found, 15) < 1.02 * least);
  CHECK(found < 0.9 * histogram.largest());  // clipping pays with few levels
}

TEST_CASE("entropy clips a far value that carries nothing, and keeps a uniform distribution whole") {
  std::vector<float> values = normal(500'000, 1);
  values.push_back(60);
  ActivationHistogram far;
  REQUIRE(far.add(values));
  CHECK(far.limit(CalibrationMethod::kEntropy, 127) < 20);
  CHECK(far.limit(CalibrationMethod::kEntropy, 127) > 2);

  std::vector<float> uniform(500'000);
  for (std::size_t i = 0; i < uniform.size(); ++i) uniform[i] = static_cast<float>(i) / 5e5F;
  ActivationHistogram flat;
  REQUIRE(flat.add(uniform));
  CHECK(flat.limit(CalibrationMethod::kEntropy, 127) > 0.97);
}

TEST_CASE("all zeros have no range") {
  ActivationHistogram histogram;
  REQUIRE(histogram.add(std::vector<float>(100, 0)));
  for (const CalibrationMethod method : kCalibrationMethods) CHECK(histogram.limit(method, 127) == 0);
}

TEST_CASE("values that are not finite are rejected and not counted") {
  ActivationHistogram histogram;
  REQUIRE(histogram.add(std::vector<float>{1}));
  CHECK_FALSE(histogram.add(std::vector<float>{2, std::numeric_limits<float>::quiet_NaN()}));
  CHECK_FALSE(histogram.add(std::vector<float>{std::numeric_limits<float>::infinity(), 2}));
  CHECK(histogram.limit(CalibrationMethod::kMinMax, 127) == 1);
}

TEST_CASE("every method gives a limit within the range for values of any scale") {
  for (const float scale : {1e-30F, 1e-3F, 1.0F, 1e30F}) {
    ActivationHistogram histogram;
    REQUIRE(histogram.add(normal(10'000, scale)));
    for (const CalibrationMethod method : kCalibrationMethods) {
      const double limit = histogram.limit(method, 255);
      CHECK(limit > 0);
      CHECK(limit <= histogram.largest());
    }
  }
}

}  // namespace unstarve::infer
