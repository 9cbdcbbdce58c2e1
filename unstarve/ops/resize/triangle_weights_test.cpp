#include "unstarve/ops/resize/triangle_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <catch2/catch.hpp>

#include "unstarve/ops/test_support.h"

namespace unstarve {
namespace {

using testing::between;

// Reference weights of one output sample: cut at the edges, normalised.
std::vector<double> by_definition(int input, double scale, double stretch, std::size_t i, int& begin) {
  const double centre = (static_cast<double>(i) + 0.5) * scale, inverse = 1.0 / stretch;
  begin = std::max(0, static_cast<int>(centre - stretch + 0.5));
  const int end = std::min(input, static_cast<int>(centre + stretch + 0.5));
  std::vector<double> weights;
  double sum = 0;
  for (int x = begin; x < end; ++x) {
    weights.push_back(std::max(0.0, 1.0 - std::abs((x - centre + 0.5) * inverse)));
    sum += weights.back();
  }
  const double inverse_sum = 1.0 / sum;
  for (double& weight : weights) weight *= inverse_sum;
  while (!weights.empty() && weights.back() == 0) weights.pop_back();
  return weights;
}

TEST_CASE("triangle weights equal their reference on every instruction set") {
  testing::on_every_target([](const std::string& target) {
    INFO(target);
    Random random(11, 0, 0, 0);
    for (int trial = 0; trial < 150; ++trial) {
      const int input = between(random, 1, trial % 3 == 0 ? 3000 : 300), output = between(random, 1, 260);
      const double scale = static_cast<double>(input) / output;
      const double stretch = trial % 2 == 0 ? std::max(1.0, scale) : 1.0;
      INFO(input << " to " << output << ", stretched by " << stretch);
      const auto outputs = static_cast<std::size_t>(output), pitch = outputs + kTriangleSlack;
      const std::size_t taps = static_cast<std::size_t>(std::ceil(stretch)) * 2 + 1;
      std::vector<double> tables((TriangleTables::kOtherTables + taps) * pitch, 7.0);
      const TriangleTables t = TriangleTables::in(tables.data(), pitch, taps);
      const double largest = make_triangle_weights(t, input, outputs, scale, stretch);
      double expected_largest = 0;
      std::size_t longest = 0;
      for (std::size_t i = 0; i < outputs; ++i) {
        int begin = 0;
        const std::vector<double> expected = by_definition(input, scale, stretch, i, begin);
        REQUIRE(t.begins[i] == begin);
        REQUIRE(t.counts[i] == static_cast<double>(expected.size()));
        for (std::size_t k = 0; k < taps; ++k)
          REQUIRE(t.weights[k * pitch + i] == (k < expected.size() ? expected[k] : 0));
        expected_largest = std::max(expected_largest, *std::max_element(expected.begin(), expected.end()));
        longest = std::max(longest, expected.size());
      }
      REQUIRE(largest == expected_largest);

      const std::size_t from = random.below(static_cast<std::uint32_t>(outputs)), out_taps = longest + longest % 2;
      std::vector<std::int16_t> rounded((outputs - from) * out_taps + 1, std::int16_t{-9});
      round_triangle_weights(t, from, outputs, {longest, 16384, rounded.data(), out_taps});
      for (std::size_t i = from; i < outputs; ++i)
        for (std::size_t k = 0; k < longest; ++k)
          REQUIRE(rounded[(i - from) * out_taps + k] ==
                  static_cast<std::int16_t>(t.weights[k * pitch + i] * 16384 + 0.5));
      REQUIRE(rounded.back() == -9);
    }
  });
}

}  // namespace
}  // namespace unstarve
