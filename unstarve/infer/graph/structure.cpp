#include "unstarve/infer/graph/structure.h"

#include <fmt/format.h>

#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/infer/graph/infer_type.h"

namespace unstarve::infer {

Graph without_weights(Graph graph) {
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    Value& value = graph.values[id];
    if (!value.constant || value.type.shape.empty()) continue;
    value.constant.reset();
    graph.inputs.push_back(id);
  }
  return graph;
}

Graph with_weights(Graph structure, const std::function<Tensor(const Value&)>& weight) {
  for (std::size_t i = 1; i < structure.inputs.size(); ++i) {
    Value& value = structure.values[structure.inputs[i]];
    Tensor tensor = weight(value);
    if (tensor.type != value.type)
      throw Error(ErrorKind::kInput, fmt::format("weights '{}': found {}; expected {}", value.name,
                                                 text_of(tensor.type), text_of(value.type)));
    value.constant = std::make_shared<const Tensor>(std::move(tensor));
  }
  structure.inputs.resize(1);
  return structure;
}

Graph with_image_size(Graph graph, std::int64_t image_size) {
  Shape& shape = graph.values[graph.inputs.at(0)].type.shape;
  shape.at(2) = shape.at(3) = image_size;
  for (const Node& node : graph.nodes) graph.values[node.output].type = infer_type(graph, node);
  return graph;
}

}  // namespace unstarve::infer
