// The graphs; tests/python/infer/test_channels.py runs pruned networks in ONNX Runtime.

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/infer/graph/multiply_adds.h"
#include "unstarve/infer/graph/verify.h"
#include "unstarve/infer/pruning/prune_channels.h"
#include "unstarve/infer/pruning/remove_channels.h"
#include "unstarve/infer/testing/small_graph.h"

namespace unstarve::infer {
namespace {

using testing::ramp;
using unstarve::testing::error_message;

ValueId input(Graph& graph, Shape shape) { return graph.add_input("x", {ElementType::kFloat32, std::move(shape)}); }

// A 1x1 convolution; the L2 norm of the weights of output i is proportional to importance[i].
ValueId conv(Graph& graph, const std::string& name, ValueId from, const std::vector<float>& importance,
             std::int64_t groups = 1) {
  const std::int64_t inputs = graph.value(from).type.shape[1] / groups;
  std::vector<float> values;
  for (const float of : importance) values.insert(values.end(), static_cast<std::size_t>(inputs), of);
  const ValueId weights = graph.add_constant(
      name + ".weight", make_tensor({static_cast<std::int64_t>(importance.size()), inputs, 1, 1}, values));
  return graph.add_node(name, OpKind::kConv, {from, weights}, ConvAttributes{{}, groups});
}

std::vector<float> rising(std::size_t count) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i + 1));
  return values;
}

// The mean over the image, and a linear layer of 3 outputs.
void add_classifier(Graph& graph, ValueId from) {
  const ValueId mean = graph.add_node("mean", OpKind::kGlobalAveragePool, {from});
  const ValueId flat = graph.add_node("flat", OpKind::kFlatten, {mean}, AxisAttributes{1});
  const std::int64_t inputs = graph.value(flat).type.shape[1];
  const ValueId weights =
      graph.add_constant("fc.weight", make_tensor({3, inputs}, ramp(static_cast<std::size_t>(3 * inputs), -1, 0.2F)));
  graph.outputs = {graph.add_node("y", OpKind::kGemm, {flat, weights}, GemmAttributes{.transpose_b = true})};
}

const Value& value_named(const Graph& graph, const std::string& name) {
  return *std::ranges::find(graph.values, name, &Value::name);
}

// Of the second axis of a value.
const std::vector<ChannelId>& channels_of(const Graph& graph, const ChannelMap& map, const std::string& name) {
  return map.channels[static_cast<std::size_t>(&value_named(graph, name) - graph.values.data())];
}

std::string reason(const Graph& graph, const ChannelMap& map, const std::string& name) {
  return map.fixed[channels_of(graph, map, name)[0]];
}

Graph residual_network() {
  Graph graph;
  const ValueId a = conv(graph, "a", input(graph, {kBatch, 3, 4, 4}), rising(16));
  const ValueId inner = graph.add_node("relu", OpKind::kRelu, {conv(graph, "b", a, rising(32))});
  add_classifier(graph, graph.add_node("sum", OpKind::kAdd, {conv(graph, "c", inner, rising(16)), a}));
  return graph;
}

}  // namespace

TEST_CASE("a residual block has one group for its sum and one for its inner channels") {
  const Graph graph = residual_network();
  const ChannelMap map = map_channels(graph);
  CHECK(map.count() == 3 + 16 + 32 + 3);
  CHECK(channels_of(graph, map, "a") == channels_of(graph, map, "c"));
  CHECK(channels_of(graph, map, "flat") == channels_of(graph, map, "sum"));
  CHECK(channels_of(graph, map, "b") == channels_of(graph, map, "relu"));
  std::set<std::uint32_t> groups;
  for (ChannelId channel = 0; channel < map.count(); ++channel)
    if (map.removable(channel)) groups.insert(map.groups[channel]);
  CHECK(groups.size() == 2);
  CHECK(reason(graph, map, "x") == "input of the model");
  CHECK(reason(graph, map, "y") == "output of the model");
}

TEST_CASE("depthwise convolutions and squeeze-excitation have the channels of their input") {
  Graph graph;
  const ValueId a = conv(graph, "a", input(graph, {kBatch, 3, 4, 4}), rising(16));
  const ValueId b = conv(graph, "depthwise", a, rising(32), 16);  // two outputs for each input
  const ValueId mean = graph.add_node("pool", OpKind::kGlobalAveragePool, {b});
  const ValueId gate =
      graph.add_node("gate", OpKind::kSigmoid, {conv(graph, "up", conv(graph, "down", mean, rising(8)), rising(32))});
  add_classifier(graph, graph.add_node("scaled", OpKind::kMul, {b, gate}));
  const ChannelMap map = map_channels(graph);
  CHECK(map.count() == 3 + 16 + 8 + 3);
  for (std::size_t i = 0; i < 32; ++i) {
    CHECK(channels_of(graph, map, "scaled")[i] == channels_of(graph, map, "a")[i / 2]);
    CHECK(channels_of(graph, map, "up")[i] == channels_of(graph, map, "a")[i / 2]);
  }
  const ChannelPruning pruned = prune_channels(graph, 0.5);
  CHECK(violation(pruned.graph).empty());
  CHECK(value_named(pruned.graph, "a").type.shape[1] == 8);
  CHECK(value_named(pruned.graph, "depthwise.weight").type.shape == Shape{16, 1, 1, 1});
  CHECK(value_named(pruned.graph, "fc.weight").type.shape == Shape{3, 16});
}

TEST_CASE("concatenation joins channels, and flattening repeats them") {
  Graph graph;
  const ValueId x = input(graph, {kBatch, 3, 2, 2});
  const ValueId a = conv(graph, "a", x, rising(4)), b = conv(graph, "b", x, rising(6));
  const ValueId joined = graph.add_node("joined", OpKind::kConcat, {a, b}, AxisAttributes{1});
  const ValueId flat = graph.add_node("flat", OpKind::kReshape, {joined}, ReshapeAttributes{{0, 40}});
  const ValueId weights = graph.add_constant("fc.weight", make_tensor({40, 3}, ramp(120, -1, 0.2F)));
  graph.outputs = {graph.add_node("y", OpKind::kMatMul, {flat, weights})};
  const ChannelMap map = map_channels(graph);
  CHECK(map.count() == 3 + 4 + 6 + 3);
  std::vector<bool> removed(map.count(), false);
  removed[channels_of(graph, map, "a")[1]] = removed[channels_of(graph, map, "b")[5]] = true;
  const Graph pruned = remove_channels(graph, map, removed);
  const std::vector<float> before = ramp(120, -1, 0.2F);
  const std::vector<float> after = floats_of(*value_named(pruned, "fc.weight").constant);
  CHECK(value_named(pruned, "fc.weight").type.shape == Shape{32, 3});
  CHECK(after[4 * 3] == before[8 * 3]);  // channel 1, of rows 4 to 7, is gone
  CHECK(after[31 * 3 + 2] == before[35 * 3 + 2]);
}

TEST_CASE("channels of grouped convolutions and shared weights are fixed, with the reason") {
  Graph graph;
  const ValueId x = input(graph, {kBatch, 3, 2, 2});
  const ValueId a = conv(graph, "a", x, rising(8));
  const ValueId grouped = conv(graph, "grouped", a, rising(8), 2);
  const ValueId b = conv(graph, "b", grouped, rising(8));
  const ValueId again =
      graph.add_node("again", OpKind::kConv, {b, graph.nodes.back().inputs[1]}, ConvAttributes{{}, 1});
  add_classifier(graph, again);
  const ChannelMap map = map_channels(graph);
  CHECK(reason(graph, map, "a") == "groups of grouped (Conv)");
  CHECK(reason(graph, map, "grouped") == "groups of grouped (Conv)");
  CHECK(reason(graph, map, "b") == "shared or computed weights of b (Conv)");
  const std::string message = error_message([&] { return prune_channels(graph, 0.5); });
  CHECK_THAT(message, Catch::Contains("prune channels of model: found none that can be removed in 5 layers; expected"));
  CHECK_THAT(message, Catch::Contains("\n  a.weight: groups of grouped (Conv)"));
}

TEST_CASE("the least important channels are removed, in blocks of 8") {
  const ChannelPruning result = prune_channels(residual_network(), 0.3);
  const Graph& graph = result.graph;
  CHECK(violation(graph).empty());
  CHECK(result.channels.layers.size() == 4);
  for (const LayerChannels& layer : result.channels.layers)
    if (layer.name != "fc.weight") CHECK(layer.after % 8 == 0);
  CHECK(result.channels.layers[1].before == 32);
  CHECK(result.channels.layers[1].after < 32);
  CHECK(result.channels.layers[3].fixed == "output of the model");
  // The most important ones remain, in their order.
  const std::vector<float> kept = floats_of(*value_named(graph, "b.weight").constant);
  CHECK(kept.back() == 32);
  CHECK(std::ranges::is_sorted(kept));
  CHECK(kept.front() == static_cast<float>(33 - result.channels.layers[1].after));
  CHECK(multiply_adds(graph) == result.channels.multiply_adds_after);
}

TEST_CASE("multiply-adds are counted without removing channels") {
  const Graph graph = residual_network();
  const ChannelMap map = map_channels(graph);
  for (const double share : {0.1, 0.3, 0.5, 0.7}) {
    const std::vector<bool> removed = choose_channels(graph, map, share);
    CHECK(multiply_adds_without(graph, map, removed) ==
          Approx(multiply_adds(remove_channels(graph, map, removed))).epsilon(1e-12));
  }
}

TEST_CASE("importance is the same whether batch norms are folded or not") {
  Graph graph;
  const ValueId a = conv(graph, "a", input(graph, {kBatch, 3, 4, 4}), {1, 2});
  const auto vector = [&](const char* name, float first, float second) {
    return graph.add_constant(name, make_tensor({2}, std::vector<float>{first, second}));
  };
  const ValueId norm =
      graph.add_node("bn", OpKind::kBatchNormalization,
                     {a, vector("scale", -6, 1), vector("shift", 0, 0), vector("mean", 0, 0), vector("variance", 4, 1)},
                     NormAttributes{0});
  add_classifier(graph, norm);
  const ChannelMap map = map_channels(graph);
  const std::vector<double> importance = channel_importance(graph, map);
  const std::vector<ChannelId>& channels = channels_of(graph, map, "a");
  CHECK(importance[channels[0]] == Approx(1.2));  // 1 * 6 / 2 = 3 and 2 * 1, of the mean 2.5
  CHECK(importance[channels[1]] == Approx(0.8));
}

TEST_CASE("a share that is impossible is an error with the largest one") {
  const Graph graph = residual_network();
  for (const double share : {-0.1, 0.0, 1.0, 2.0})
    CHECK_THAT(error_message([&] { return prune_channels(graph, share); }, ErrorKind::kArgument),
               Catch::Contains("of the multiply-adds; expected more than 0 and less than 1"));
  CHECK_THAT(error_message([&] { return prune_channels(graph, 0.99); }, ErrorKind::kArgument),
             Catch::Contains("prune channels: found that at most ") && Catch::Contains("expected at least 99.0 %"));
}

}  // namespace unstarve::infer
