#include "unstarve/infer/graph/multiply_adds.h"

#include <cstddef>

namespace unstarve::infer {
namespace {

double elements(const Shape& shape) {
  double count = 1;
  for (const std::int64_t side : shape)
    if (side != kBatch) count *= static_cast<double>(side);
  return count;
}

// Terms of the sum that is one element of the result; 0: it is no such sum.
double terms(const Graph& graph, const Node& node) {
  const auto shape = [&](std::size_t i) -> const Shape& { return graph.value(node.inputs[i]).type.shape; };
  switch (node.kind) {
    case OpKind::kConv: return elements({shape(1).begin() + 1, shape(1).end()});
    case OpKind::kGemm:
      return static_cast<double>(shape(1)[std::get<GemmAttributes>(node.attributes).transpose_b ? 1 : 0]);
    case OpKind::kMatMul: return static_cast<double>(shape(0).back());
    default: return 0;
  }
}

}  // namespace

double multiply_adds(const Graph& graph, const Node& node) {
  return elements(graph.value(node.output).type.shape) * terms(graph, node);
}

double multiply_adds(const Graph& graph) {
  double sum = 0;
  for (const Node& node : graph.nodes) sum += multiply_adds(graph, node);
  return sum;
}

std::int64_t trained_parameters(const Graph& graph) {
  std::int64_t count = graph.parameters();
  for (const Node& node : graph.nodes)
    if (node.kind == OpKind::kBatchNormalization)
      for (const std::size_t i : {3, 4}) count -= element_count(graph.value(node.inputs[i]).type.shape).value_or(0);
  return count;
}

}  // namespace unstarve::infer
