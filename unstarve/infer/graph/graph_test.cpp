#include "unstarve/infer/graph/graph.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <functional>
#include <limits>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/infer/graph/infer_type.h"
#include "unstarve/infer/graph/unsupported.h"
#include "unstarve/infer/graph/verify.h"
#include "unstarve/infer/testing/small_graph.h"

namespace unstarve::infer {
namespace {

using testing::small_network;
using unstarve::testing::error_message;

// The type of one node that reads inputs of these shapes.
TensorType type_of(OpKind kind, const Attributes& attributes, const std::vector<Shape>& shapes) {
  Graph graph;
  std::vector<ValueId> inputs;
  for (const Shape& shape : shapes)
    inputs.push_back(graph.add_input("i" + std::to_string(inputs.size()), {ElementType::kFloat32, shape}));
  return graph.value(graph.add_node("n", kind, inputs, attributes)).type;
}
Shape shape_of(OpKind kind, const Attributes& attributes, const std::vector<Shape>& shapes) {
  return type_of(kind, attributes, shapes).shape;
}
std::string shape_error(OpKind kind, const Attributes& attributes, const std::vector<Shape>& shapes) {
  return error_message([&] { (void)type_of(kind, attributes, shapes); });
}

}  // namespace

TEST_CASE("shapes of convolutions and pools are those of torch") {
  const Window window{{3, 5}, {2, 1}, {1, 2}, {1, 2, 0, 2}};
  CHECK(shape_of(OpKind::kConv, ConvAttributes{window, 2}, {{kBatch, 4, 9, 12}, {6, 2, 3, 5}, {6}}) ==
        Shape{kBatch, 6, 4, 8});
  const PoolAttributes ceil{{{3, 3}, {2, 2}, {1, 1}, {0, 0, 0, 0}}, true};
  CHECK(shape_of(OpKind::kMaxPool, ceil, {{1, 2, 6, 7}}) == Shape{1, 2, 3, 3});
  // No window begins in the padding at the end.
  const PoolAttributes padded{{{1, 1}, {3, 3}, {1, 1}, {0, 0, 0, 0}}, true};
  CHECK(shape_of(OpKind::kMaxPool, padded, {{1, 2, 3, 4}}) == Shape{1, 2, 1, 2});
  CHECK(shape_of(OpKind::kGlobalAveragePool, {}, {{kBatch, 7, 5, 5}}) == Shape{kBatch, 7, 1, 1});
}

TEST_CASE("the batch size stays open where it can be expressed") {
  CHECK(shape_of(OpKind::kFlatten, AxisAttributes{1}, {{kBatch, 8, 2, 2}}) == Shape{kBatch, 32});
  CHECK(shape_of(OpKind::kReshape, ReshapeAttributes{{-1, 32}}, {{kBatch, 8, 2, 2}}) == Shape{kBatch, 32});
  CHECK(shape_of(OpKind::kReshape, ReshapeAttributes{{0, -1}}, {{kBatch, 8, 2, 2}}) == Shape{kBatch, 32});
  CHECK(shape_of(OpKind::kReshape, ReshapeAttributes{{4, -1, 2}}, {{2, 8, 2, 2}}) == Shape{4, 8, 2});
  CHECK(shape_of(OpKind::kReduceMean, ReduceAttributes{{-1, 2}, false}, {{kBatch, 8, 2, 2}}) == Shape{kBatch, 8});
  CHECK(shape_of(OpKind::kTranspose, TransposeAttributes{{1, 0}}, {{kBatch, 8}}) == Shape{8, kBatch});
  CHECK(shape_of(OpKind::kMatMul, {}, {{kBatch, 7, 3}, {3, 5}}) == Shape{kBatch, 7, 5});
  CHECK(shape_of(OpKind::kAdd, {}, {{kBatch, 1, 4}, {3, 1}}) == Shape{kBatch, 3, 4});
  CHECK_THAT(shape_error(OpKind::kFlatten, AxisAttributes{2}, {{kBatch, 8, 2, 2}}),
             Catch::Contains("a dimension of its result is batch * 8; expected a fixed batch size"));
  CHECK_THAT(shape_error(OpKind::kReshape, ReshapeAttributes{{1, 32}}, {{kBatch, 8, 2, 2}}),
             Catch::Contains("it changes [batch, 8, 2, 2] to [1, 32], which fixes the batch size"));
  CHECK_THAT(shape_error(OpKind::kConcat, AxisAttributes{0}, {{kBatch, 8}, {kBatch, 8}}),
             Catch::Contains("expected a known length of the joined axis"));
}

TEST_CASE("nodes whose inputs do not fit are rejected by name") {
  const std::vector<std::pair<std::string, std::function<std::string()>>> cases{
      {"node 'n' (Conv): found 4 input channels, 1 groups and weights [6, 3, 3, 3]; expected channels = groups * "
       "weights[1], and outputs divisible by groups",
       [] {
         return shape_error(OpKind::kConv, ConvAttributes{{.kernel = {3, 3}}}, {{1, 4, 9, 9}, {6, 3, 3, 3}});
       }},
      {"node 'n' (Conv): found 1 inputs; expected 2 to 3",
       [] {
         return shape_error(OpKind::kConv, ConvAttributes{}, {{1, 4, 9, 9}});
       }},
      {"node 'n' (Relu): attributes of another operator; expected its own",
       [] {
         return shape_error(OpKind::kRelu, AxisAttributes{}, {{1, 4}});
       }},
      {"node 'n' (Add): found the shapes [2, 3] and [4]; expected shapes that can be broadcast",
       [] {
         return shape_error(OpKind::kAdd, {}, {{2, 3}, {4}});
       }},
      {"node 'n' (Softmax): found the axis 2; expected one of 2 axes",
       [] {
         return shape_error(OpKind::kSoftmax, AxisAttributes{2}, {{2, 3}});
       }},
      {"node 'n' (Gemm): found the shapes [2, 3] and [2, 3]; expected the same inner dimension",
       [] {
         return shape_error(OpKind::kGemm, GemmAttributes{}, {{2, 3}, {2, 3}});
       }},
      {"node 'n' (Transpose): found the axis 0 twice; expected each axis once",
       [] {
         return shape_error(OpKind::kTranspose, TransposeAttributes{{0, 0}}, {{2, 3}});
       }},
      {"node 'n' (Pad): it reflects 3 of 3 elements; expected a smaller padding",
       [] {
         return shape_error(OpKind::kPad, PadAttributes{{0, 3, 0, 0}, PadMode::kReflect, 0}, {{2, 3}});
       }},
  };
  for (const auto& [expected, run] : cases) CHECK(run() == expected);
}

TEST_CASE("verification reports the first violation with its node") {
  Graph graph = small_network();
  CHECK(violation(graph).empty());
  SECTION("order") {
    std::swap(graph.nodes[1], graph.nodes[2]);
    CHECK(violation(graph) == "node 'relu' (Relu) reads 'bn' before it is computed; expected topological order");
  }
  SECTION("type") {
    graph.values[graph.nodes[2].output].type.shape[1] = 5;
    CHECK(violation(graph) == "node 'relu' (Relu) computes float32 [2, 4, 5, 5]; expected float32 [2, 5, 5, 5]");
  }
  SECTION("names") {
    graph.values[graph.nodes[0].output].name = "x";
    CHECK(violation(graph) == "two values have the name 'x'");
  }
  SECTION("definitions") {
    graph.nodes[1].output = graph.nodes[0].output;
    CHECK(violation(graph) == "node 'bn' (BatchNormalization) computes 'conv', which exists");
  }
  SECTION("bytes") {
    Tensor tensor = make_tensor({4}, std::vector<float>{1, 2, 3});
    graph.add_constant("short", tensor);
    CHECK(violation(graph) == "constant 'short' has 12 bytes; expected those of float32 [4]");
  }
  SECTION("outputs") {
    graph.outputs.clear();
    CHECK(violation(graph) == "the graph has no output");
  }
  SECTION("attributes") {
    std::get<ConvAttributes>(graph.nodes[0].attributes).groups = 0;
    CHECK_THAT(violation(graph), Catch::StartsWith("node 'conv' (Conv): found 2 input channels, 0 groups"));
  }
}

TEST_CASE("constants with NaN or infinities are found by name and index") {
  Graph graph = small_network();
  CHECK(not_finite(graph).empty());
  graph.add_constant("bad", make_tensor({3}, std::vector<float>{1, 2, std::numeric_limits<float>::infinity()}));
  CHECK(not_finite(graph) == "'bad' has infinity at index 2");
}

TEST_CASE("what is not used is removed, and inputs stay") {
  Graph graph = small_network();
  const std::size_t nodes = graph.nodes.size(), values = graph.values.size();
  (void)graph.add_constant("unused", make_tensor({}, std::vector<float>{1}));
  const ValueId extra = graph.add_node("extra", OpKind::kRelu, {graph.inputs[0]});
  (void)graph.add_node("more", OpKind::kRelu, {extra});
  (void)graph.add_input("second", {ElementType::kFloat32, {1}});
  graph.remove_unused();
  CHECK(graph.nodes.size() == nodes);
  CHECK(graph.values.size() == values + 1);
  CHECK(graph.inputs.size() == 2);
  CHECK(violation(graph).empty());
}

TEST_CASE("copies of a graph share their constants") {
  const Graph graph = small_network();
  const Graph copy = graph;
  CHECK(copy.values[1].constant.get() == graph.values[1].constant.get());
  CHECK(graph.parameters() == 72 + 16);
  CHECK(graph.constant_bytes() == 4 * (72 + 16));
}

TEST_CASE("weights in int8 are parameters, and their scales are not") {
  Graph graph;
  const ValueId x = graph.add_input("x", {ElementType::kFloat32, {kBatch, 8}});
  const ValueId weights = graph.add_constant("weights", {{ElementType::kInt8, {3, 8}}, std::vector<std::uint8_t>(24)});
  const ValueId scales = graph.add_constant("scales", make_tensor({3}, std::vector<float>{1, 2, 3}));
  const ValueId dequantised =
      graph.add_node("dequantised", OpKind::kDequantizeLinear, {weights, scales}, AxisAttributes{0});
  const ValueId bias = graph.add_constant("bias", make_tensor({3}, std::vector<float>{1, 2, 3}));
  graph.outputs = {graph.add_node("gemm", OpKind::kGemm, {x, dequantised, bias}, GemmAttributes{.transpose_b = true})};
  CHECK(violation(graph).empty());
  CHECK(graph.parameters() == 24 + 3);
}

TEST_CASE("halves convert to floats exactly") {
  const auto half = [](ElementType type, std::uint16_t bits) {
    const auto low = static_cast<std::uint8_t>(bits & 0xff), high = static_cast<std::uint8_t>(bits >> 8);
    return floats_of({{type, {1}}, {low, high}})[0];
  };
  CHECK(half(ElementType::kFloat16, 0x3c00) == 1.0F);
  CHECK(half(ElementType::kFloat16, 0xc580) == -5.5F);
  CHECK(half(ElementType::kFloat16, 0x0001) == 0x1p-24F);
  CHECK(half(ElementType::kFloat16, 0x83ff) == -0x3ffp-24F);
  CHECK(half(ElementType::kFloat16, 0x7bff) == 65504.0F);
  CHECK(std::isinf(half(ElementType::kFloat16, 0xfc00)));
  CHECK(std::isnan(half(ElementType::kFloat16, 0x7e00)));
  CHECK(half(ElementType::kBfloat16, 0xc0b0) == -5.5F);
}

TEST_CASE("unsupported operators are listed with up to eight nodes each") {
  UnsupportedOperators all;
  all.check();
  for (int i = 0; i < 10; ++i) all.add("Sin", "s" + std::to_string(i));
  all.add("Loop", "l");
  CHECK(error_message([&] { all.check(); }) ==
        "found 2 unsupported operators: Loop (node 'l'); Sin (nodes 's0', 's1', 's2', 's3', 's4', 's5', 's6', 's7', "
        "and 2 more); expected only those of the reference \"Model files\" (docs/reference/models.md)");
}

}  // namespace unstarve::infer
