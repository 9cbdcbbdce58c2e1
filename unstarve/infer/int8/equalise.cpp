#include "unstarve/infer/int8/equalise.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace unstarve::infer {
namespace {

// Rare activations beyond the calibrated range of a channel lose more with a larger factor.
constexpr float kMostFactor = 16;

bool is_conv(const Graph& graph, const Node& node) {
  return node.kind == OpKind::kConv && std::ranges::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](ValueId id) {
           return is_float32_constant(graph.value(id));
         });
}

bool is_depthwise(const Graph& graph, const Node& conv) {
  return std::get<ConvAttributes>(conv.attributes).groups == graph.value(conv.inputs[0]).type.shape[1];
}

// Whether f * x keeps its result f times as large, if it stays within the bounds.
bool keeps_factors(const Node& node) {
  return node.kind == OpKind::kRelu ||
         (node.kind == OpKind::kClip && std::get<ClipAttributes>(node.attributes).low == 0);
}

std::vector<float> factors_of(const std::vector<float>& peaks) {
  const float largest = *std::ranges::max_element(peaks);
  std::vector<float> factors;
  for (const float peak : peaks) factors.push_back(peak > 0 ? std::min(largest / peak, kMostFactor) : 1);
  return factors;
}

// Multiplies or divides equal parts of the constant, one for each factor.
void scale_constant(Graph& graph, ValueId& constant, const std::vector<float>& factors, bool divide) {
  const Value before = graph.value(constant);
  std::vector<float> values = floats_of(*before.constant);
  if (values.size() == 1) values.resize(factors.size(), values[0]);  // a bias for all channels
  const std::size_t part = values.size() / factors.size();
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = divide ? values[i] / factors[i / part] : values[i] * factors[i / part];
  const Shape shape = values.size() == factors.size() && before.type.shape.size() <= 1
                          ? Shape{static_cast<std::int64_t>(values.size())}
                          : before.type.shape;
  Tensor scaled = make_tensor(shape, values);
  if (graph.users()[constant].size() == 1) {
    graph.values[constant].type = scaled.type;
    graph.values[constant].constant = std::make_shared<const Tensor>(std::move(scaled));
  } else {
    constant = graph.add_constant(graph.unique_name(before.name + ".equalised"), std::move(scaled));
  }
}

}  // namespace

EqualisedGraph equalise(Graph graph, const Calibration& calibration) {
  const std::vector<std::size_t> producers = graph.producers();
  const std::vector<std::vector<std::size_t>> users = graph.users();
  const auto only_producer = [&](ValueId id) -> Node* {
    const bool one = users[id].size() == 1 && !graph.is_output(id) && producers[id] != Graph::kNoNode;
    return one ? &graph.nodes[producers[id]] : nullptr;
  };
  int changed = 0;
  for (Node& second : graph.nodes) {
    if (!is_conv(graph, second) || !is_depthwise(graph, second)) continue;
    Node* first = only_producer(second.inputs[0]);
    if (first != nullptr && keeps_factors(*first)) first = only_producer(first->inputs[0]);
    if (first == nullptr || !is_conv(graph, *first)) continue;
    const std::vector<float> factors = factors_of(calibration.of(second.inputs[0]).channel_peaks);
    for (std::size_t i = 1; i < first->inputs.size(); ++i) scale_constant(graph, first->inputs[i], factors, false);
    scale_constant(graph, second.inputs[1], factors, true);
    ++changed;
  }
  if (changed > 0) graph.remove_unused();
  return {std::move(graph), changed};
}

}  // namespace unstarve::infer
