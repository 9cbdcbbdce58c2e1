#include <algorithm>

#include "unstarve/infer/passes/pass.h"

namespace unstarve::infer {
namespace {

// Whether the first input of the node and its result are equal.
bool is_identity(const Graph& graph, const Node& node) {
  const TensorType& from = graph.value(node.inputs[0]).type;
  const bool same_type = from == graph.value(node.output).type;
  switch (node.kind) {
    case OpKind::kIdentity:
    case OpKind::kDropout: return true;
    case OpKind::kCast:
    case OpKind::kFlatten:
    case OpKind::kReshape:
    case OpKind::kPad: return same_type;  // padding adds elements
    case OpKind::kConcat: return node.inputs.size() == 1;
    case OpKind::kTranspose: {
      const std::vector<std::int64_t>& order = std::get<TransposeAttributes>(node.attributes).order;
      return std::ranges::is_sorted(order) && (order.empty() || order.front() >= 0);
    }
    default: return false;
  }
}

}  // namespace

PassResult remove_identities(Graph graph) {
  int changed = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!is_identity(graph, graph.nodes[i])) continue;
    const ValueId from = graph.nodes[i].inputs[0], to = graph.nodes[i].output;
    if (graph.is_output(to)) {
      // The output keeps its name, so what computes `from` computes `to` instead.
      const std::size_t producer = graph.producers()[from];
      if (producer == Graph::kNoNode || graph.is_output(from)) continue;
      graph.nodes[producer].output = to;
      graph.replace_uses(from, to);
    } else {
      graph.replace_uses(to, from);
    }
    graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(i--));
    ++changed;
  }
  graph.remove_unused();
  return {std::move(graph), changed};
}

}  // namespace unstarve::infer
