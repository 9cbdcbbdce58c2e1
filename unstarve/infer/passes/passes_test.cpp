#include "unstarve/infer/passes/pass.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/infer/graph/verify.h"
#include "unstarve/infer/testing/small_graph.h"

namespace unstarve::infer {
namespace {

using testing::compute;
using testing::ramp;
using testing::small_network;
using unstarve::testing::error_message;

std::vector<std::string> kinds_of(const Graph& graph) {
  std::vector<std::string> kinds;
  for (const Node& node : graph.nodes) kinds.emplace_back(name_of(node.kind));
  return kinds;
}

void check_same(const Graph& a, const Graph& b, std::size_t inputs) {
  const std::vector<float> x = ramp(inputs, -1, 0.3F);
  const std::vector<float> expected = compute(a, x), found = compute(b, x);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == Approx(expected[i]).epsilon(1e-5).margin(1e-5));
}

}  // namespace

TEST_CASE("all passes together leave one convolution and its activation") {
  const Graph before = small_network();
  const PassedGraph after = run_passes(before);
  CHECK(kinds_of(after.graph) == std::vector<std::string>{"Conv", "Relu"});
  CHECK(violation(after.graph).empty());
  CHECK(after.graph.value(after.graph.outputs[0]).name == "y");
  REQUIRE(after.reports.size() == 3);
  CHECK(after.reports[0].name == "remove_identities");
  CHECK(after.reports[0].changed == 1);
  CHECK(after.reports[0].nodes_before == 4);
  CHECK(after.reports[2].changed == 1);
  CHECK(after.reports[2].nodes_after == 2);
  check_same(before, after.graph, 100);
}

TEST_CASE("a pass that changes nothing reports nothing") {
  const Graph folded = run_passes(small_network()).graph;
  for (const PassReport& report : run_passes(folded).reports) {
    CHECK(report.changed == 0);
    CHECK(report.nodes_before == report.nodes_after);
  }
}

TEST_CASE("identities are removed, and those between an input and an output stay") {
  Graph graph;
  const ValueId x = graph.add_input("x", {ElementType::kFloat32, {kBatch, 3, 4, 4}});
  ValueId at = graph.add_node("relu", OpKind::kRelu, {x});
  at = graph.add_node("dropout", OpKind::kDropout, {at});
  at = graph.add_node("cast", OpKind::kCast, {at}, CastAttributes{ElementType::kFloat32});
  at = graph.add_node("reshape", OpKind::kReshape, {at}, ReshapeAttributes{{0, 3, 4, -1}});
  at = graph.add_node("transpose", OpKind::kTranspose, {at}, TransposeAttributes{{0, 1, 2, 3}});
  at = graph.add_node("pad", OpKind::kPad, {at}, PadAttributes{std::vector<std::int64_t>(8, 0)});
  at = graph.add_node("concat", OpKind::kConcat, {at}, AxisAttributes{1});
  const ValueId swapped = graph.add_node("swapped", OpKind::kTranspose, {at}, TransposeAttributes{{0, 1, 3, 2}});
  graph.outputs = {swapped, graph.add_node("same", OpKind::kIdentity, {x})};
  const auto [after, changed] = remove_identities(graph);
  CHECK(changed == 6);
  CHECK(kinds_of(after) == std::vector<std::string>{"Relu", "Transpose", "Identity"});
  CHECK(violation(after).empty());
}

TEST_CASE("constants are evaluated with broadcasting, and quantised weights stay") {
  Graph graph;
  const ValueId x = graph.add_input("x", {ElementType::kFloat32, {2, 3}});
  const ValueId a = graph.add_constant("a", make_tensor({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}));
  const ValueId b = graph.add_constant("b", make_tensor({2, 1}, std::vector<float>{10, 20}));
  const ValueId difference = graph.add_node("difference", OpKind::kSub, {a, b});
  const ValueId turned = graph.add_node("turned", OpKind::kTranspose, {difference}, TransposeAttributes{{1, 0}});
  const ValueId joined = graph.add_node("joined", OpKind::kConcat, {turned, turned}, AxisAttributes{-1});
  const ValueId quantised = graph.add_constant("q", {{ElementType::kInt8, {4, 4}}, std::vector<std::uint8_t>(16, 3)});
  const ValueId step = graph.add_constant("step", make_tensor({}, std::vector<float>{0.5F}));
  const ValueId real = graph.add_node("real", OpKind::kDequantizeLinear, {quantised, step}, AxisAttributes{0});
  const ValueId product = graph.add_node("product", OpKind::kMatMul, {x, joined});
  graph.outputs = {graph.add_node("y", OpKind::kMatMul, {product, real})};
  const auto [after, changed] = fold_constants(graph);
  CHECK(changed == 3);
  CHECK(kinds_of(after) == std::vector<std::string>{"DequantizeLinear", "MatMul", "MatMul"});
  CHECK(violation(after).empty());
  const auto found = std::ranges::find(after.values, "joined", &Value::name);
  REQUIRE(found != after.values.end());
  CHECK(floats_of(*found->constant) == std::vector<float>{-9, -16, -9, -16, -8, -15, -8, -15, -7, -14, -7, -14});
}

TEST_CASE("batch norms fold through a max pool only if all scales are positive") {
  const bool positive = GENERATE(true, false);
  Graph graph;
  const ValueId x = graph.add_input("x", {ElementType::kFloat32, {1, 1, 6, 6}});
  const ValueId weight = graph.add_constant("w", make_tensor({2, 1, 3, 3}, ramp(18, -0.4F, 0.1F)));
  const ValueId bias = graph.add_constant("b", make_tensor({2}, std::vector<float>{0.5F, -0.5F}));
  const ValueId conv = graph.add_node("conv", OpKind::kConv, {x, weight, bias}, ConvAttributes{{.kernel = {3, 3}}, 1});
  const ValueId pool =
      graph.add_node("pool", OpKind::kMaxPool, {conv}, PoolAttributes{{.kernel = {2, 2}, .strides = {2, 2}}});
  const ValueId scale = graph.add_constant("s", make_tensor({2}, std::vector<float>{2, positive ? 1.5F : -1.5F}));
  const ValueId shift = graph.add_constant("t", make_tensor({2}, std::vector<float>{1, 2}));
  const ValueId mean = graph.add_constant("m", make_tensor({2}, std::vector<float>{0.25F, 0.5F}));
  const ValueId variance = graph.add_constant("v", make_tensor({2}, std::vector<float>{2, 3}));
  graph.outputs = {
      graph.add_node("y", OpKind::kBatchNormalization, {pool, scale, shift, mean, variance}, NormAttributes{})};
  const auto [after, changed] = fold_batch_norm(graph);
  CHECK(changed == (positive ? 1 : 0));
  CHECK(after.nodes.size() == (positive ? 2 : 3));
  CHECK(violation(after).empty());
  check_same(graph, after, 36);
}

TEST_CASE("batch norms stay where the layer has other readers") {
  Graph graph = small_network();
  const auto conv = std::ranges::find(graph.nodes, OpKind::kConv, &Node::kind)->output;
  graph.outputs.push_back(graph.add_node("other", OpKind::kRelu, {conv}));
  CHECK(fold_batch_norm(graph).changed == 0);
}

TEST_CASE("weights that two layers share are folded for one of them") {
  Graph graph = small_network();
  const Node conv = *std::ranges::find(graph.nodes, OpKind::kConv, &Node::kind);
  graph.outputs.push_back(graph.add_node("second", OpKind::kConv, conv.inputs, conv.attributes));
  const auto [after, changed] = fold_batch_norm(graph);
  CHECK(changed == 1);
  CHECK(violation(after).empty());
  check_same(graph, after, 100);
  std::swap(graph.outputs[0], graph.outputs[1]);
  Graph swapped = after;
  std::swap(swapped.outputs[0], swapped.outputs[1]);
  check_same(graph, swapped, 100);
}

TEST_CASE("a pass that returns an invalid graph is named") {
  const Pass broken{"broken", "", [](Graph graph) {
                      std::swap(graph.nodes[0], graph.nodes[1]);
                      return PassResult{std::move(graph), 1};
                    }};
  const std::string message =
      error_message([&] { (void)run_passes(small_network(), std::span(&broken, 1)); }, ErrorKind::kInternal);
  CHECK(message ==
        "pass broken: node 'bn' (BatchNormalization) reads 'conv' before it is computed; expected "
        "topological order");
}

}  // namespace unstarve::infer
