#include "unstarve/infer/int8/equalise.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "unstarve/infer/graph/verify.h"
#include "unstarve/infer/int8/quantise.h"
#include "unstarve/infer/testing/small_graph.h"

namespace unstarve::infer {
namespace {

using testing::compute;
using testing::ramp;

constexpr std::int64_t kChannels = 4;

struct Between {
  OpKind kind = OpKind::kClip;
  Attributes attributes = ClipAttributes{0, 6};
  std::int64_t groups = kChannels;  // of the second layer
};

// x [1, 2, 5, 5] -> conv, whose channels have ranges of different sizes -> activation function -> conv -> "y"
Graph two_layers(const Between& between = {}) {
  Graph graph;
  const ValueId x = graph.add_input("x", {ElementType::kFloat32, {1, 2, 5, 5}});
  std::vector<float> weights = ramp(kChannels * 18, -0.1F, 0.03F);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] /= static_cast<float>(1 << (i / 18));
  const ValueId first_weights = graph.add_constant("first.weight", make_tensor({kChannels, 2, 3, 3}, weights));
  const ValueId first_bias = graph.add_constant("first.bias", make_tensor({kChannels}, ramp(kChannels, 0.01F, 0.01F)));
  const Window window{.kernel = {3, 3}, .pads = {1, 1, 1, 1}};
  const ValueId first =
      graph.add_node("first", OpKind::kConv, {x, first_weights, first_bias}, ConvAttributes{window, 1});
  const ValueId active = graph.add_node("active", between.kind, {first}, between.attributes);
  const std::int64_t inputs = kChannels / between.groups;
  const ValueId second_weights = graph.add_constant(
      "second.weight",
      make_tensor({kChannels, inputs, 3, 3}, ramp(static_cast<std::size_t>(kChannels * inputs * 9), -1, 0.3F)));
  graph.outputs = {
      graph.add_node("y", OpKind::kConv, {active, second_weights}, ConvAttributes{window, between.groups})};
  return graph;
}

const std::vector<float> kImage = ramp(50, -1, 0.5F);

Calibration calibrated(const Graph& graph) {
  const std::vector<ValueId> values = observed_activations(graph, quantisable_layers(graph));
  Calibration calibration(graph, values);
  std::vector<float> row;
  for (const ValueId value : values) {
    Graph part = graph;
    part.outputs = {value};
    std::ranges::copy(compute(part, kImage), std::back_inserter(row));
  }
  calibration.add(row);
  return calibration;
}

ValueId value_named(const Graph& graph, const std::string& name) {
  return static_cast<ValueId>(std::ranges::find(graph.values, name, &Value::name) - graph.values.begin());
}

// The integers of all convolutions' weights.
std::vector<std::int8_t> stored_integers(const Graph& graph) {
  std::vector<std::int8_t> result;
  for (const Value& value : graph.values)
    if (value.constant && value.type.element == ElementType::kInt8 && value.type.shape.size() == 4)
      for (const std::uint8_t byte : value.constant->bytes) result.push_back(static_cast<std::int8_t>(byte));
  return result;
}

}  // namespace

TEST_CASE("channels before a depthwise layer get one range; outputs stay, and integers of weights within rounding") {
  const auto [kind, attributes] = GENERATE(std::pair<OpKind, Attributes>(OpKind::kClip, ClipAttributes{0, 6}),
                                           std::pair<OpKind, Attributes>(OpKind::kRelu, std::monostate()));
  const Graph before = two_layers({kind, attributes});
  const EqualisedGraph after = equalise(before, calibrated(before));
  REQUIRE(after.activations == 1);
  CHECK(violation(after.graph).empty());

  const std::vector<float> expected = compute(before, kImage), found = compute(after.graph, kImage);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == Approx(expected[i]).epsilon(1e-5).margin(1e-5));

  const std::vector<float> peaks = calibrated(before).of(value_named(before, "active")).channel_peaks;
  CHECK(*std::ranges::min_element(peaks) < 0.3F * *std::ranges::max_element(peaks));
  const Calibration calibration = calibrated(after.graph);
  for (const float peak : calibration.of(value_named(after.graph, "active")).channel_peaks)
    CHECK(peak == Approx(*std::ranges::max_element(peaks)));

  const std::vector<std::size_t> layers = quantisable_layers(before);
  const QuantiseOptions how{.layers = layers, .correct_bias = false};
  const std::vector<std::int8_t> integers = stored_integers(quantise(before, calibrated(before), how));
  const std::vector<std::int8_t> equalised = stored_integers(quantise(after.graph, calibration, how));
  REQUIRE(integers.size() == equalised.size());
  for (std::size_t i = 0; i < integers.size(); ++i) CHECK(std::abs(integers[i] - equalised[i]) <= 1);  // rounding
}

TEST_CASE("the float32 graph is shared with the one before and stays as it is") {
  const Graph before = two_layers();
  const std::vector<float> expected = compute(before, kImage);
  (void)equalise(before, calibrated(before));
  CHECK(compute(before, kImage) == expected);
}

TEST_CASE("a channel that is never active, and a very small one, get bounded factors") {
  Graph graph = two_layers();
  std::vector<float> weights = floats_of(*graph.values[value_named(graph, "first.weight")].constant);
  std::vector<float> bias = floats_of(*graph.values[value_named(graph, "first.bias")].constant);
  std::fill_n(weights.begin(), 18, 0.0F);
  bias[0] = -1;  // never active
  for (std::size_t i = 18; i < 36; ++i) weights[i] *= 1e-6F;
  bias[1] = 1e-6F;
  graph.values[value_named(graph, "first.weight")].constant =
      std::make_shared<const Tensor>(make_tensor({kChannels, 2, 3, 3}, weights));
  graph.values[value_named(graph, "first.bias")].constant =
      std::make_shared<const Tensor>(make_tensor({kChannels}, bias));
  const EqualisedGraph after = equalise(graph, calibrated(graph));
  const std::vector<float> scaled = floats_of(*after.graph.value(value_named(after.graph, "first.bias")).constant);
  CHECK(scaled[0] == -1);
  CHECK(scaled[1] == Approx(16e-6F));
}

TEST_CASE("nothing changes where weights would lose precision, or the result would change") {
  const auto unchanged = [](const Graph& graph) { return equalise(graph, calibrated(graph)).activations == 0; };
  CHECK(unchanged(two_layers({.groups = 1})));  // the second layer is dense
  CHECK(unchanged(two_layers({.attributes = ClipAttributes{-1, 1}})));
  Graph twice = two_layers();
  twice.outputs.push_back(value_named(twice, "active"));
  CHECK(unchanged(twice));
}

}  // namespace unstarve::infer
