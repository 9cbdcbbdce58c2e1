#include "unstarve/infer/graph/graph.h"

#include <algorithm>
#include <utility>

#include "unstarve/infer/graph/infer_type.h"

namespace unstarve::infer {

ValueId Graph::add_input(std::string value_name, TensorType type) {
  values.push_back({std::move(value_name), std::move(type)});
  return inputs.emplace_back(static_cast<ValueId>(values.size() - 1));
}

ValueId Graph::add_constant(std::string value_name, Tensor tensor) {
  TensorType type = tensor.type;
  values.push_back({std::move(value_name), std::move(type), std::make_shared<const Tensor>(std::move(tensor))});
  return static_cast<ValueId>(values.size() - 1);
}

ValueId Graph::add_node(std::string node_name, OpKind kind, std::vector<ValueId> node_inputs, Attributes attributes) {
  Node node{std::move(node_name), kind, std::move(attributes), std::move(node_inputs),
            static_cast<ValueId>(values.size())};
  TensorType type = infer_type(*this, node);
  values.push_back({node.name, std::move(type)});
  nodes.push_back(std::move(node));
  return nodes.back().output;
}

std::string Graph::unique_name(const std::string& requested) const {
  std::string found = requested;
  const auto exists = [&](const Value& value) { return value.name == found; };
  for (int i = 1; std::ranges::any_of(values, exists); ++i) found = requested + "." + std::to_string(i);
  return found;
}

bool Graph::is_output(ValueId id) const { return std::ranges::find(outputs, id) != outputs.end(); }

std::vector<std::vector<std::size_t>> Graph::users() const {
  std::vector<std::vector<std::size_t>> users(values.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const ValueId input : nodes[i].inputs) users[input].push_back(i);
  return users;
}

std::vector<std::size_t> Graph::producers() const {
  std::vector<std::size_t> producers(values.size(), kNoNode);
  for (std::size_t i = 0; i < nodes.size(); ++i) producers[nodes[i].output] = i;
  return producers;
}

std::int64_t Graph::parameters() const {
  std::vector<bool> counts(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) counts[i] = is_float(values[i].type.element);
  for (const Node& node : nodes) {
    if (node.kind != OpKind::kQuantizeLinear && node.kind != OpKind::kDequantizeLinear) continue;
    counts[node.inputs[0]] = true;   // weights in int8
    counts[node.inputs[1]] = false;  // their scale
  }
  std::int64_t count = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].constant && counts[i]) count += element_count(values[i].type.shape).value_or(0);
  return count;
}

std::uint64_t Graph::constant_bytes() const {
  std::uint64_t bytes = 0;
  for (const Value& value : values)
    if (value.constant) bytes += value.constant->bytes.size();
  return bytes;
}

void Graph::replace_uses(ValueId from, ValueId to) {
  for (Node& node : nodes) std::ranges::replace(node.inputs, from, to);
  std::ranges::replace(outputs, from, to);
}

void Graph::remove_unused() {
  std::vector<bool> used(values.size(), false);
  for (const ValueId id : outputs) used[id] = true;
  for (const ValueId id : inputs) used[id] = true;
  std::vector<Node> kept;
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if (!used[node->output]) continue;
    for (const ValueId input : node->inputs) used[input] = true;
    kept.push_back(std::move(*node));
  }
  std::ranges::reverse(kept);
  nodes = std::move(kept);

  std::vector<ValueId> renumbered(values.size(), 0);
  std::vector<Value> kept_values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!used[i]) continue;
    renumbered[i] = static_cast<ValueId>(kept_values.size());
    kept_values.push_back(std::move(values[i]));
  }
  values = std::move(kept_values);
  const auto renumber = [&](ValueId& id) { id = renumbered[id]; };
  std::ranges::for_each(inputs, renumber);
  std::ranges::for_each(outputs, renumber);
  for (Node& node : nodes) {
    std::ranges::for_each(node.inputs, renumber);
    renumber(node.output);
  }
}

}  // namespace unstarve::infer
