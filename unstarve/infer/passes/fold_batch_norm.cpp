#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "unstarve/infer/passes/pass.h"

namespace unstarve::infer {
namespace {

// y = scale * x + shift, for each channel.
struct Affine {
  std::vector<double> scale;
  std::vector<double> shift;
};

std::optional<Affine> affine_of(const Graph& graph, const Node& norm) {
  std::vector<std::vector<float>> parts;
  for (std::size_t i = 1; i < norm.inputs.size(); ++i) {
    if (!is_float32_constant(graph.value(norm.inputs[i]))) return std::nullopt;
    parts.push_back(floats_of(*graph.value(norm.inputs[i]).constant));
  }
  const double epsilon = std::get<NormAttributes>(norm.attributes).epsilon;
  Affine result;
  for (std::size_t i = 0; i < parts[0].size(); ++i) {
    const double variance = parts[3][i] + epsilon;
    if (variance <= 0) return std::nullopt;
    const double scale = parts[0][i] / std::sqrt(variance);
    result.scale.push_back(scale);
    result.shift.push_back(parts[1][i] - parts[2][i] * scale);
  }
  return result;
}

// The layer whose outputs `affine` can be folded into; null: it cannot.
Node* foldable_layer(Graph& graph, const Node& norm, const Affine& affine) {
  const std::vector<std::size_t> producers = graph.producers();
  const std::vector<std::vector<std::size_t>> users = graph.users();
  const auto producer_for_one = [&](ValueId id) -> Node* {
    const bool one = users[id].size() == 1 && !graph.is_output(id) && producers[id] != Graph::kNoNode;
    return one ? &graph.nodes[producers[id]] : nullptr;
  };
  Node* layer = producer_for_one(norm.inputs[0]);
  if (layer != nullptr && layer->kind == OpKind::kMaxPool &&
      std::ranges::all_of(affine.scale, [](double scale) { return scale > 0; }))
    layer = producer_for_one(layer->inputs[0]);
  if (layer == nullptr || (layer->kind != OpKind::kConv && layer->kind != OpKind::kGemm)) return nullptr;
  if (!is_float32_constant(graph.value(layer->inputs[1]))) return nullptr;
  if (layer->inputs.size() == 3 && !is_float32_constant(graph.value(layer->inputs[2]))) return nullptr;
  if (layer->kind == OpKind::kConv) return layer;
  const GemmAttributes& of = std::get<GemmAttributes>(layer->attributes);
  const bool vector_bias = layer->inputs.size() == 2 || graph.value(layer->inputs[2]).type.shape.size() == 1;
  return of.transpose_b && of.alpha == 1 && of.beta == 1 && vector_bias ? layer : nullptr;
}

// Weights are rows, one for each output.
void fold_into(Graph& graph, Node& layer, const Affine& affine) {
  const std::size_t rows = affine.scale.size();
  const Value& weights = graph.value(layer.inputs[1]);
  std::vector<float> values = floats_of(*weights.constant);
  const std::size_t row = values.size() / rows;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(values[i] * affine.scale[i / row]);

  std::vector<float> bias(rows, 0);
  if (layer.inputs.size() == 3) {
    const std::vector<float> before = floats_of(*graph.value(layer.inputs[2]).constant);
    for (std::size_t i = 0; i < rows; ++i) bias[i] = before[before.size() == 1 ? 0 : i];
  }
  for (std::size_t i = 0; i < rows; ++i) bias[i] = static_cast<float>(bias[i] * affine.scale[i] + affine.shift[i]);

  Tensor folded = make_tensor(weights.type.shape, values);
  if (graph.users()[layer.inputs[1]].size() == 1) {
    graph.values[layer.inputs[1]].constant = std::make_shared<const Tensor>(std::move(folded));
  } else {
    layer.inputs[1] = graph.add_constant(graph.unique_name(weights.name + ".folded"), std::move(folded));
  }
  layer.inputs.resize(2);
  const std::string name = graph.unique_name(graph.value(layer.output).name + ".bias");
  layer.inputs.push_back(graph.add_constant(name, make_tensor({static_cast<std::int64_t>(rows)}, bias)));
}

}  // namespace

PassResult fold_batch_norm(Graph graph) {
  int changed = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind != OpKind::kBatchNormalization) continue;
    const std::optional<Affine> affine = affine_of(graph, graph.nodes[i]);
    Node* const layer = affine ? foldable_layer(graph, graph.nodes[i], *affine) : nullptr;
    if (layer == nullptr) continue;
    fold_into(graph, *layer, *affine);
    // What computed the input of the batch norm now computes its result.
    const ValueId from = graph.nodes[i].inputs[0], to = graph.nodes[i].output;
    graph.nodes[graph.producers()[from]].output = to;
    graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(i--));
    ++changed;
  }
  graph.remove_unused();
  return {std::move(graph), changed};
}

}  // namespace unstarve::infer
