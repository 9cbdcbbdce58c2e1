// Graphs of few operators; torch/import/importer_test.cpp has the known figures of networks.

#include "unstarve/infer/graph/multiply_adds.h"

#include <catch2/catch.hpp>

#include "unstarve/infer/testing/small_graph.h"

namespace unstarve::infer {
namespace {

using testing::ramp;

ValueId weights(Graph& graph, const char* name, Shape shape) {
  const auto count = static_cast<std::size_t>(*element_count(shape));
  return graph.add_constant(name, make_tensor(std::move(shape), ramp(count, 0, 1)));
}

}  // namespace

TEST_CASE("a convolution costs its outputs times the weights of a filter, and groups divide that") {
  Graph graph;
  const ValueId x = graph.add_input("x", {ElementType::kFloat32, {kBatch, 6, 9, 11}});
  const ValueId dense = graph.add_node("dense", OpKind::kConv, {x, weights(graph, "a", {4, 6, 3, 3})},
                                       ConvAttributes{{.kernel = {3, 3}, .strides = {2, 2}}, 1});
  CHECK(multiply_adds(graph) == 4 * 4 * 5 * (6 * 3 * 3));
  const ValueId depthwise = graph.add_node("depthwise", OpKind::kConv, {dense, weights(graph, "b", {4, 1, 3, 1})},
                                           ConvAttributes{{.kernel = {3, 1}, .pads = {1, 0, 1, 0}}, 4});
  graph.outputs = {depthwise};
  CHECK(multiply_adds(graph) == 4 * 4 * 5 * (6 * 3 * 3) + 4 * 4 * 5 * 3);
}

TEST_CASE("matrix products cost rows x inner x columns; an open batch counts as one image, a fixed one as it is") {
  for (const std::int64_t batch : {kBatch, std::int64_t{5}}) {
    const double images = batch == kBatch ? 1 : 5;
    Graph graph;
    const ValueId x = graph.add_input("x", {ElementType::kFloat32, {batch, 8}});
    const ValueId gemm =
        graph.add_node("gemm", OpKind::kGemm, {x, weights(graph, "a", {3, 8})}, GemmAttributes{.transpose_b = true});
    CHECK(multiply_adds(graph) == images * 8 * 3);
    const ValueId other = graph.add_node("other", OpKind::kGemm, {gemm, weights(graph, "b", {3, 7})}, GemmAttributes{});
    graph.outputs = {graph.add_node("matmul", OpKind::kMatMul, {other, weights(graph, "c", {7, 2})})};
    CHECK(multiply_adds(graph) == images * (8 * 3 + 3 * 7 + 7 * 2));
  }
}

TEST_CASE("element-wise operators and poolings cost nothing; means and variances are no parameters") {
  const Graph graph = testing::small_network();
  CHECK(multiply_adds(graph) == 2 * 4 * 5 * 5 * (2 * 3 * 3));  // a fixed batch of 2
  CHECK(trained_parameters(graph) == 72 + 4 + 4);
  CHECK(graph.parameters() == 72 + 4 * 4);
}

}  // namespace unstarve::infer
