#include "unstarve/infer/pruning/remove_channels.h"

#include <algorithm>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/infer/graph/infer_type.h"
#include "unstarve/infer/graph/verify.h"

namespace unstarve::infer {
namespace {

// Whether each index of an axis remains.
using Kept = std::vector<bool>;

// The tensor with the indices of `axis` that remain.
Tensor shrunk(const Tensor& tensor, std::size_t axis, const Kept& kept) {
  Tensor result{tensor.type, {}};
  result.type.shape[axis] = std::ranges::count(kept, true);
  std::size_t inner = element_bytes(tensor.type.element);
  for (std::size_t i = axis + 1; i < tensor.type.shape.size(); ++i)
    inner *= static_cast<std::size_t>(tensor.type.shape[i]);
  const std::size_t parts = tensor.bytes.size() / inner;
  for (std::size_t i = 0; i < parts; ++i) {
    if (!kept[i % kept.size()]) continue;
    const auto begin = tensor.bytes.begin() + static_cast<std::ptrdiff_t>(i * inner);
    result.bytes.insert(result.bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(inner));
  }
  return result;
}

class ChannelRemover {
 public:
  ChannelRemover(Graph graph, const ChannelMap& map, const std::vector<bool>& removed)
      : graph_(std::move(graph)), map_(map), removed_(removed) {}

  Graph run() {
    for (Node& node : graph_.nodes) {
      shrink(node);
      graph_.values[node.output].type = infer_type(graph_, node);
    }
    if (const std::string wrong = violation(graph_); !wrong.empty())
      throw Error(ErrorKind::kInternal, "remove channels: " + wrong);
    return std::move(graph_);
  }

 private:
  // Of the second axis of a value; empty: all remain.
  [[nodiscard]] Kept kept(ValueId value) const {
    Kept result;
    for (const ChannelId channel : map_.channels[value]) result.push_back(!removed_[channel]);
    if (std::ranges::find(result, false) == result.end()) result.clear();
    return result;
  }

  void shrink_constant(ValueId id, std::size_t axis, const Kept& kept) {
    if (kept.empty()) return;
    Value& value = graph_.values[id];
    value.constant = std::make_shared<const Tensor>(shrunk(*value.constant, axis, kept));
    value.type = value.constant->type;
  }
  // Of a value that is broadcast to the result.
  void shrink_operand(const Node& node, std::size_t operand) {
    if (!graph_.value(node.inputs[operand]).constant) return;
    const std::ptrdiff_t axis = channel_axis_of_operand(graph_, node, operand);
    if (axis >= 0) shrink_constant(node.inputs[operand], static_cast<std::size_t>(axis), kept(node.output));
  }

  void shrink(Node& node) {
    switch (node.kind) {
      case OpKind::kConv: return shrink_conv(node);
      case OpKind::kGemm:
      case OpKind::kMatMul: return shrink_product(node);
      case OpKind::kBatchNormalization:
        for (std::size_t i = 1; i < node.inputs.size(); ++i) shrink_constant(node.inputs[i], 0, kept(node.output));
        return;
      case OpKind::kAdd:
      case OpKind::kSub:
      case OpKind::kMul:
      case OpKind::kDiv:
        for (const std::size_t i : {0, 1}) shrink_operand(node, i);
        return;
      case OpKind::kReshape: {
        std::vector<std::int64_t>& shape = std::get<ReshapeAttributes>(node.attributes).shape;
        const Kept left = kept(node.output);
        if (!left.empty() && shape[1] > 0) shape[1] = std::ranges::count(left, true);
        return;
      }
      default: return;  // has neither constants nor attributes of channels
    }
  }

  void shrink_conv(Node& node) {
    const Kept inputs = kept(node.inputs[0]), outputs = kept(node.output);
    shrink_constant(node.inputs[1], 0, outputs);
    if (node.inputs.size() == 3) shrink_constant(node.inputs[2], 0, outputs);
    std::int64_t& groups = std::get<ConvAttributes>(node.attributes).groups;
    if (groups == 1) {
      shrink_constant(node.inputs[1], 1, inputs);
    } else if (!inputs.empty()) {  // depthwise
      groups = std::ranges::count(inputs, true);
    }
  }

  void shrink_product(const Node& node) {
    const bool transposed = node.kind == OpKind::kGemm && std::get<GemmAttributes>(node.attributes).transpose_b;
    const Kept inputs = kept(node.inputs[0]), outputs = kept(node.output);
    if (node.inputs.size() == 3) shrink_operand(node, 2);  // compares shapes: before the others shrink
    shrink_constant(node.inputs[1], transposed ? 0 : 1, outputs);
    shrink_constant(node.inputs[1], transposed ? 1 : 0, inputs);
  }

  Graph graph_;
  const ChannelMap& map_;
  const std::vector<bool>& removed_;
};

}  // namespace

Graph remove_channels(Graph graph, const ChannelMap& map, const std::vector<bool>& removed) {
  return ChannelRemover(std::move(graph), map, removed).run();
}

}  // namespace unstarve::infer
