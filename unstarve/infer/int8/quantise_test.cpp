// The graphs; tests/python/infer/test_int8.py runs them in engines.

#include "unstarve/infer/int8/quantise.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/infer/graph/verify.h"
#include "unstarve/infer/testing/small_graph.h"

namespace unstarve::infer {
namespace {

using testing::compute;
using testing::ramp;
using unstarve::testing::error_message;

// x [batch, 2, 4, 4] -> conv a, relu -> max pool -> conv b -> Add with a's result -> relu -> mean -> Gemm
Graph residual_network() {
  Graph graph;
  const ValueId x = graph.add_input("x", {ElementType::kFloat32, {kBatch, 2, 4, 4}});
  const auto conv = [&](const std::string& name, ValueId from, std::int64_t inputs) {
    const auto count = static_cast<std::size_t>(4 * inputs * 9);
    const ValueId weights =
        graph.add_constant(name + ".weight", make_tensor({4, inputs, 3, 3}, ramp(count, -0.5F, 0.1F)));
    return graph.add_node(name, OpKind::kConv, {from, weights},
                          ConvAttributes{{.kernel = {3, 3}, .pads = {1, 1, 1, 1}}, 1});
  };
  const ValueId a = graph.add_node("a.relu", OpKind::kRelu, {conv("a", x, 2)});
  const ValueId pooled = graph.add_node("pool", OpKind::kMaxPool, {a},
                                        PoolAttributes{{.kernel = {3, 3}, .strides = {1, 1}, .pads = {1, 1, 1, 1}}});
  const ValueId sum = graph.add_node("sum", OpKind::kAdd, {conv("b", pooled, 4), a});
  const ValueId relu = graph.add_node("sum.relu", OpKind::kRelu, {sum});
  const ValueId mean = graph.add_node("mean", OpKind::kGlobalAveragePool, {relu});
  const ValueId flat = graph.add_node("flat", OpKind::kFlatten, {mean}, AxisAttributes{1});
  const ValueId weights = graph.add_constant("last.weight", make_tensor({3, 4}, ramp(12, -1, 0.2F)));
  const ValueId bias = graph.add_constant("last.bias", make_tensor({3}, std::vector<float>{1, 2, 3}));
  graph.outputs = {graph.add_node("y", OpKind::kGemm, {flat, weights, bias}, GemmAttributes{.transpose_b = true})};
  return graph;
}

std::vector<std::string> names_of(const Graph& graph, std::span<const ValueId> values) {
  std::vector<std::string> names;
  for (const ValueId value : values) names.push_back(graph.value(value).name);
  std::ranges::sort(names);
  return names;
}

std::size_t row_size(const Calibration& calibration) {
  const Graph& observed = calibration.observed_graph();
  return static_cast<std::size_t>(observed.value(observed.outputs.at(0)).type.shape.at(1));
}

// Calibrated with a row of `values`.
Calibration calibrated(const Graph& graph, std::span<const std::size_t> layers, std::vector<float> values = {}) {
  Calibration calibration(graph, observed_activations(graph, layers));
  if (values.empty()) values = ramp(row_size(calibration), -1, 0.2F);
  calibration.add(values);
  return calibration;
}

const Node& node_named(const Graph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.nodes, name, &Node::name);
  REQUIRE(found != graph.nodes.end());
  return *found;
}

// The type of what the node's input was before it was dequantised; nothing: it is float32.
std::optional<ElementType> quantised_type(const Graph& graph, ValueId input) {
  const std::size_t producer = graph.producers()[input];
  if (producer == Graph::kNoNode || graph.nodes[producer].kind != OpKind::kDequantizeLinear) return std::nullopt;
  return graph.value(graph.nodes[producer].inputs[0]).type.element;
}

}  // namespace

TEST_CASE("layers with constant float32 weights can be quantised") {
  const Graph graph = residual_network();
  std::vector<std::string> names;
  for (const std::size_t layer : quantisable_layers(graph)) names.push_back(graph.nodes[layer].name);
  CHECK(names == std::vector<std::string>{"a", "b", "y"});
}

TEST_CASE("observed are inputs of layers, of additions and of averages; one is quantised before the pooling") {
  const Graph graph = residual_network();
  CHECK(names_of(graph, observed_activations(graph, quantisable_layers(graph))) ==
        std::vector<std::string>{"a.relu", "b", "flat", "mean", "pool", "sum.relu", "x"});
}

TEST_CASE("layers, additions, pooling and averages read int8 without zero points") {
  const Graph graph = residual_network();
  const std::vector<std::size_t> layers = quantisable_layers(graph);
  const Graph result = quantise(graph, calibrated(graph, layers), {.layers = layers});
  CHECK(violation(result).empty());
  CHECK(names_of(result, result.outputs) == std::vector<std::string>{"y"});
  CHECK(quantised_type(result, node_named(result, "a").inputs[0]) == ElementType::kInt8);
  CHECK(quantised_type(result, node_named(result, "a").inputs[1]) == ElementType::kInt8);
  CHECK(quantised_type(result, node_named(result, "pool").inputs[0]) == ElementType::kUint8);
  CHECK_FALSE(quantised_type(result, node_named(result, "b").inputs[0]));  // the result of the pooling
  CHECK(quantised_type(result, node_named(result, "sum").inputs[0]) == ElementType::kInt8);
  CHECK(quantised_type(result, node_named(result, "sum").inputs[1]) == ElementType::kUint8);
  CHECK(quantised_type(result, node_named(result, "mean").inputs[0]) == ElementType::kUint8);
  CHECK_FALSE(quantised_type(result, node_named(result, "sum.relu").inputs[0]));
}

TEST_CASE("limits of training quantise what a calibration of all layers does, with their scales") {
  Graph graph = residual_network();
  const std::vector<std::size_t> layers = quantisable_layers(graph);
  const QuantisationPlan plan = quantisation_plan(graph, graph);
  CHECK(plan.layers == layers);
  for (const auto& activation : plan.activations) graph.limits[graph.value(activation.value).name] = 2;
  const Graph result = quantise(graph);
  CHECK(violation(result).empty());
  CHECK(result.limits.empty());
  const Graph calibrated_result = quantise(graph, calibrated(graph, layers), {.layers = layers, .correct_bias = false});
  REQUIRE(result.nodes.size() == calibrated_result.nodes.size());
  for (std::size_t i = 0; i < result.nodes.size(); ++i) {
    CHECK(result.nodes[i].name == calibrated_result.nodes[i].name);
    CHECK(result.nodes[i].kind == calibrated_result.nodes[i].kind);
  }
  for (const Node& node : result.nodes) {
    if (node.kind != OpKind::kQuantizeLinear) continue;
    CAPTURE(node.name);
    const auto planned = std::ranges::find_if(plan.activations, [&](const QuantisationPlan::Activation& activation) {
      return graph.value(activation.value).name == result.value(node.inputs[0]).name;
    });
    REQUIRE(planned != plan.activations.end());
    CHECK(planned->positive == (result.value(node.output).type.element == ElementType::kUint8));
    CHECK(floats_of(*result.value(node.inputs[1]).constant)[0] == 2 / static_cast<float>(planned->levels()));
  }
}

TEST_CASE("layers that read no activation with a limit stay in float32") {
  Graph graph = residual_network();
  graph.limits = {{"x", 1.0F}};
  const Graph result = quantise(graph);
  CHECK(quantised_type(result, node_named(result, "a").inputs[1]).has_value());
  CHECK_FALSE(quantised_type(result, node_named(result, "b").inputs[1]));
  graph.limits = {{"a.weight", 1.0F}};
  CHECK_THAT(error_message([&] { (void)quantise(graph); }),
             Catch::Contains("found limits of 1 values, of which 0 are activations of the model; expected all"));
}

TEST_CASE("training for int8 requires a layer, and no batch norm after pooling without activation") {
  Graph empty;
  empty.outputs = {empty.add_node("y", OpKind::kRelu, {empty.add_input("x", {ElementType::kFloat32, {kBatch, 2}})})};
  CHECK_THAT(error_message([&] { (void)quantisation_plan(empty, empty); }), Catch::Contains("found no Conv, Gemm"));

  Graph graph;
  ValueId value = graph.add_input("x", {ElementType::kFloat32, {kBatch, 2, 6, 6}});
  const auto conv = [&](const std::string& name) {
    const ValueId weights = graph.add_constant(name + ".weight", make_tensor({2, 2, 1, 1}, ramp(4, -1, 0.5F)));
    value = graph.add_node(name, OpKind::kConv, {value, weights}, ConvAttributes{});
  };
  conv("a");
  value = graph.add_node("pool", OpKind::kMaxPool, {value},
                         PoolAttributes{{.kernel = {2, 2}, .strides = {2, 2}}, false, false});
  std::vector<ValueId> inputs{value};
  for (const char* name : {"scale", "shift", "mean", "variance"})
    inputs.push_back(graph.add_constant(name, make_tensor({2}, std::vector<float>{1, 2})));
  value = graph.add_node("norm", OpKind::kBatchNormalization, inputs, NormAttributes{});
  conv("b");
  graph.outputs = {value};
  // As fold_batch_norm() folds it: the result of layer a, before the pooling, is that of the norm.
  Graph folded = graph;
  folded.nodes[1].output = folded.nodes[2].output;
  folded.nodes.erase(folded.nodes.begin() + 2);
  CHECK_THAT(error_message([&] { (void)quantisation_plan(graph, folded); }),
             Catch::Contains("found 'a' between a layer, a MaxPool and a batch norm"));
}

TEST_CASE("layers that are not chosen stay in float32") {
  const Graph graph = residual_network();
  const std::vector<std::size_t> layers{quantisable_layers(graph)[0]};
  const Graph result = quantise(graph, calibrated(graph, layers), {.layers = layers});
  CHECK(violation(result).empty());
  CHECK(quantised_type(result, node_named(result, "a").inputs[0]).has_value());
  CHECK_FALSE(quantised_type(result, node_named(result, "b").inputs[1]));
  CHECK_FALSE(quantised_type(result, node_named(result, "y").inputs[0]));
  CHECK(std::ranges::count(result.nodes, OpKind::kQuantizeLinear, &Node::kind) ==
        4);  // of x, the addition and the average
}

TEST_CASE("signed activations are all int8, with the limits of 127 levels") {
  const Graph graph = residual_network();
  const std::vector<std::size_t> layers = quantisable_layers(graph);
  const Calibration calibration = calibrated(graph, layers);
  const auto types = [&](bool are_signed) {
    const Graph result = quantise(graph, calibration, {.layers = layers, .form = {8, are_signed}});
    CHECK(violation(result).empty());
    std::set<ElementType> found;
    for (const Node& node : result.nodes)
      if (node.kind == OpKind::kQuantizeLinear) found.insert(result.value(node.output).type.element);
    return found;
  };
  CHECK(types(true) == std::set{ElementType::kInt8});
  CHECK(types(false).contains(ElementType::kUint8));
}

TEST_CASE("weights have a scale per output channel and at most the levels of their bits") {
  const Graph graph = residual_network();
  const std::vector<std::size_t> layers = quantisable_layers(graph);
  const Calibration calibration = calibrated(graph, layers);
  for (const int bits : {7, 8}) {
    const Graph result = quantise(graph, calibration, {.layers = layers, .form = {bits}});
    const Node& layer = node_named(result, "b");
    const Node& dequantised = result.nodes[result.producers()[layer.inputs[1]]];
    CHECK(std::get<AxisAttributes>(dequantised.attributes).axis == 0);
    const Tensor& stored = *result.value(dequantised.inputs[0]).constant;
    const std::vector<float> scales = floats_of(*result.value(dequantised.inputs[1]).constant);
    const std::vector<float> exact = floats_of(*graph.value(node_named(graph, "b").inputs[1]).constant);
    REQUIRE(scales.size() == 4);
    const int most = bits == 8 ? 127 : 63;
    for (std::size_t r = 0; r < 4; ++r) {
      int largest = 0;
      for (std::size_t i = 0; i < 36; ++i) {
        const auto value = static_cast<std::int8_t>(stored.bytes[r * 36 + i]);
        largest = std::max(largest, std::abs(static_cast<int>(value)));
        CHECK(static_cast<float>(value) * scales[r] == Approx(exact[r * 36 + i]).margin(scales[r] * 0.501));
      }
      CHECK(largest == most);
    }
  }
}

TEST_CASE("the bias cancels what rounding adds to the mean of a channel") {
  Graph graph;
  const ValueId x = graph.add_input("x", {ElementType::kFloat32, {kBatch, 2}});
  // 0.37 rounds to 47/127: by 0.000079 too much, times the mean 1000.
  const ValueId weights = graph.add_constant("w", make_tensor({1, 2}, std::vector<float>{1, 0.37F}));
  graph.outputs = {graph.add_node("y", OpKind::kGemm, {x, weights}, GemmAttributes{.transpose_b = true})};
  const Calibration calibration = calibrated(graph, std::vector<std::size_t>{0}, {-5, 1000});
  const Graph result = quantise(graph, calibration, {.layers = {0}});
  CHECK(violation(result).empty());
  const Node& layer = node_named(result, "y");
  REQUIRE(layer.inputs.size() == 3);
  CHECK(floats_of(*result.value(layer.inputs[2]).constant)[0] ==
        Approx(-1000 * (47 / 127.0 - static_cast<double>(0.37F))).epsilon(1e-3));
  const Graph without = quantise(graph, calibration, {.layers = {0}, .correct_bias = false});
  CHECK(node_named(without, "y").inputs.size() == 2);
}

TEST_CASE("weights alone: matrix products are stored as int8 and read float32 activations") {
  const Graph graph = residual_network();
  const Graph result = quantise_weights(graph, std::vector<std::size_t>{quantisable_layers(graph).back()});
  CHECK(violation(result).empty());
  CHECK(quantised_type(result, node_named(result, "y").inputs[1]) == ElementType::kInt8);
  CHECK_FALSE(quantised_type(result, node_named(result, "y").inputs[0]));
  CHECK_FALSE(quantised_type(result, node_named(result, "a").inputs[1]));
}

TEST_CASE("the observed graph has one row of all activations, and its memory does not grow with images") {
  const Graph graph = residual_network();
  const std::vector<ValueId> values = observed_activations(graph, quantisable_layers(graph));
  Calibration calibration(graph, values);
  CHECK(violation(calibration.observed_graph()).empty());
  const Graph& observed = calibration.observed_graph();
  REQUIRE(observed.outputs.size() == 1);
  std::size_t sizes = 0;
  for (const ValueId value : values) sizes += calibration.of(value).size;
  CHECK(observed.value(observed.outputs[0]).type.shape == Shape{kBatch, static_cast<std::int64_t>(sizes)});
  calibration.add(ramp(3 * row_size(calibration), 0, 0.1F));
  CHECK(calibration.images() == 3);
  const Activation& input = calibration.of(graph.inputs[0]);
  CHECK(input.channels == 2);
  double sum = 0;
  const std::vector<float> rows = ramp(3 * row_size(calibration), 0, 0.1F);
  for (std::size_t image = 0; image < 3; ++image)
    for (std::size_t i = 0; i < 16; ++i) sum += rows[image * row_size(calibration) + input.begin + 16 + i];
  CHECK(input.channel_mean(1, 3) == Approx(sum / 48));
}

TEST_CASE("activations that are not finite are an error with their name") {
  const Graph graph = residual_network();
  Calibration calibration(graph, observed_activations(graph, quantisable_layers(graph)));
  std::vector<float> row(row_size(calibration), 1);
  row[calibration.of(graph.inputs[0]).begin] = std::numeric_limits<float>::infinity();
  CHECK(error_message([&] { calibration.add(row); }) ==
        "calibrate: found activations of 'x' that are not finite numbers; expected finite numbers. The normalisation "
        "may belong to another model");
}

}  // namespace unstarve::infer
