#include "unstarve/infer/pruning/channel_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace unstarve::infer {
namespace {

using Channels = std::vector<ChannelId>;

// Disjoint sets of numbers, which grow.
class Sets {
 public:
  ChannelId add() {
    parents_.push_back(static_cast<ChannelId>(parents_.size()));
    return parents_.back();
  }
  ChannelId find(ChannelId id) {
    while (parents_[id] != id) id = parents_[id] = parents_[parents_[id]];
    return id;
  }
  // The smaller root remains.
  void unite(ChannelId a, ChannelId b) {
    const ChannelId first = find(a), second = find(b);
    parents_[std::max(first, second)] = std::min(first, second);
  }
  [[nodiscard]] std::size_t size() const { return parents_.size(); }

 private:
  std::vector<ChannelId> parents_;
};

std::int64_t product_from(const Shape& shape, std::size_t first) {
  std::int64_t product = 1;
  for (std::size_t i = first; i < shape.size(); ++i) product *= shape[i];
  return product;
}

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

class MapBuilder {
 public:
  explicit MapBuilder(const Graph& graph) : graph_(graph), users_(graph.users()), channels_(graph.values.size()) {}

  ChannelMap run() {
    for (const ValueId input : graph_.inputs) channels_[input] = fixed_channels(input, "input of the model");
    for (const Node& node : graph_.nodes) {
      if (std::ranges::all_of(node.inputs, [&](ValueId id) { return graph_.value(id).constant != nullptr; })) {
        channels_[node.output] = fixed_channels(node.output, "computed from constants");
      } else {
        channels_[node.output] = result_channels(node);
      }
    }
    for (const ValueId output : graph_.outputs) fix(channels_[output], "output of the model");
    return finish();
  }

 private:
  [[nodiscard]] const Shape& shape(ValueId id) const { return graph_.value(id).type.shape; }
  [[nodiscard]] const Channels& channels(const Node& node, std::size_t input = 0) const {
    return channels_[node.inputs[input]];
  }

  Channels new_channels(std::size_t count) {
    Channels result;
    for (std::size_t i = 0; i < count; ++i) {
      result.push_back(same_.add());
      (void)groups_.add();
      reasons_.emplace_back();
    }
    return result;
  }
  void fix(const Channels& channels, const std::string& reason) {
    for (const ChannelId channel : channels)
      if (reasons_[channel].empty()) reasons_[channel] = reason;
  }
  Channels fixed_channels(ValueId value, const std::string& reason) {
    if (shape(value).size() < 2 || shape(value)[1] == kBatch) return {};
    Channels result = new_channels(static_cast<std::size_t>(shape(value)[1]));
    fix(result, reason);
    return result;
  }
  // Of a layer: new channels of one group.
  Channels computed_channels(ValueId value) {
    Channels result = new_channels(static_cast<std::size_t>(shape(value)[1]));
    for (const ChannelId channel : result) groups_.unite(result[0], channel);
    return result;
  }
  // For a node without a rule: none of the channels that it reads or computes is removed.
  Channels unknown(const Node& node, const std::string& reason) {
    const std::string why = fmt::format("{} of {} ({})", reason, node.name, name_of(node.kind));
    for (const ValueId input : node.inputs) fix(channels_[input], why);
    return fixed_channels(node.output, why);
  }

  // Whether the operands after the first one are constants of this node alone.
  [[nodiscard]] bool has_own_constants(const Node& node) const {
    return std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](ValueId id) {
      return graph_.value(id).constant != nullptr && users_[id].size() == 1 && !graph_.is_output(id);
    });
  }

  Channels result_channels(const Node& node) {
    switch (node.kind) {
      case OpKind::kConv: return conv(node);
      case OpKind::kGemm:
      case OpKind::kMatMul: return matrix_product(node);
      case OpKind::kBatchNormalization:
        return has_own_constants(node) ? channels(node) : unknown(node, "shared parameters");
      case OpKind::kRelu:
      case OpKind::kClip:
      case OpKind::kSigmoid:
      case OpKind::kHardSigmoid:
      case OpKind::kHardSwish:
      case OpKind::kErf:
      case OpKind::kMaxPool:
      case OpKind::kAveragePool:
      case OpKind::kGlobalAveragePool:
      case OpKind::kGlobalMaxPool:
      case OpKind::kIdentity:
      case OpKind::kDropout:
      case OpKind::kCast: return channels(node);
      case OpKind::kAdd:
      case OpKind::kSub:
      case OpKind::kMul:
      case OpKind::kDiv: return element_wise(node);
      case OpKind::kReduceMean: return reduce(node);
      case OpKind::kFlatten:
      case OpKind::kReshape: return reshape(node);
      case OpKind::kConcat: return concat(node);
      case OpKind::kPad: return pad(node);
      case OpKind::kSoftmax:
      case OpKind::kTranspose:
      case OpKind::kQuantizeLinear:
      case OpKind::kDequantizeLinear: break;
    }
    return unknown(node, "operator without a rule:");
  }

  Channels conv(const Node& node) {
    if (!has_own_constants(node)) return unknown(node, "shared or computed weights");
    const Channels& inputs = channels(node);
    if (is_depthwise(graph_, node)) {
      const auto outputs = static_cast<std::size_t>(shape(node.output)[1]);
      Channels result;
      for (std::size_t i = 0; i < outputs; ++i) result.push_back(inputs[i / (outputs / inputs.size())]);
      return result;
    }
    if (std::get<ConvAttributes>(node.attributes).groups != 1) return unknown(node, "groups");
    return computed_channels(node.output);
  }

  Channels matrix_product(const Node& node) {
    const bool transposed = node.kind == OpKind::kGemm && std::get<GemmAttributes>(node.attributes).transpose_a;
    if (shape(node.inputs[0]).size() != 2 || shape(node.inputs[1]).size() != 2 || transposed)
      return unknown(node, "product along another axis:");
    if (!has_own_constants(node)) return unknown(node, "shared or computed weights");
    return computed_channels(node.output);
  }

  Channels element_wise(const Node& node) {
    const std::size_t constant = graph_.value(node.inputs[0]).constant   ? 0
                                 : graph_.value(node.inputs[1]).constant ? 1
                                                                         : 2;
    if (constant < 2) return with_constant(node, constant);
    const Channels &a = channels(node, 0), &b = channels(node, 1);
    if (shape(node.inputs[0]).size() != shape(node.inputs[1]).size() || a.empty() || b.empty())
      return unknown(node, "operands of other ranks");
    if (a.size() != b.size()) {  // one channel is broadcast
      fix(a.size() == 1 ? a : b, "multiplies or adds to all channels");
      return a.size() == 1 ? b : a;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
      same_.unite(a[i], b[i]);
      groups_.unite(a[i], b[i]);
    }
    return a;
  }

  Channels with_constant(const Node& node, std::size_t constant) {
    const Channels& read = channels(node, 1 - constant);
    if (read.empty() || shape(node.output).size() != shape(node.inputs[1 - constant]).size() ||
        shape(node.output)[1] != static_cast<std::int64_t>(read.size()))
      return unknown(node, "broadcast");
    const ValueId id = node.inputs[constant];
    if (channel_axis_of_operand(graph_, node, constant) >= 0 && (users_[id].size() != 1 || graph_.is_output(id)))
      return unknown(node, "shared constant");
    return read;
  }

  Channels reduce(const Node& node) {
    const std::vector<std::int64_t>& axes = std::get<ReduceAttributes>(node.attributes).axes;
    const std::size_t rank = shape(node.inputs[0]).size();
    const auto is_spatial = [&](std::int64_t axis) { return axis_of(axis, rank) >= 2; };
    if (axes.empty() || !std::ranges::all_of(axes, is_spatial)) return unknown(node, "mean over channels");
    return channels(node);
  }

  // Of shapes that begin with batch and channels, or that move all of an image to one axis.
  Channels reshape(const Node& node) {
    const Shape &from = shape(node.inputs[0]), &to = shape(node.output);
    const Channels& read = channels(node);
    if (read.empty() || to.size() < 2 || to[0] != from[0]) return unknown(node, "order of axes");
    if (to[1] == from[1]) return read;
    if (to.size() != 2 || to[1] != product_from(from, 1)) return unknown(node, "order of axes");
    Channels result;
    for (const ChannelId channel : read)
      result.insert(result.end(), static_cast<std::size_t>(product_from(from, 2)), channel);
    return result;
  }

  Channels concat(const Node& node) {
    const std::size_t axis = axis_of(std::get<AxisAttributes>(node.attributes).axis, shape(node.output).size());
    const auto is_computed = [&](ValueId id) { return !graph_.value(id).constant && !channels_[id].empty(); };
    if (!std::ranges::all_of(node.inputs, is_computed)) return unknown(node, "constant parts");
    Channels result = channels(node);
    for (std::size_t part = 1; part < node.inputs.size(); ++part) {
      const Channels& other = channels(node, part);
      if (axis == 1) {
        result.insert(result.end(), other.begin(), other.end());
        continue;
      }
      for (std::size_t i = 0; i < result.size(); ++i) {
        same_.unite(result[i], other[i]);
        groups_.unite(result[i], other[i]);
      }
    }
    return result;
  }

  Channels pad(const Node& node) {
    const std::vector<std::int64_t>& pads = std::get<PadAttributes>(node.attributes).pads;
    const bool pads_channels = pads.size() >= 4 && (pads[1] != 0 || pads[pads.size() / 2 + 1] != 0);
    return pads_channels ? unknown(node, "padded channels") : channels(node);
  }

  // Numbers the channels without gaps. A channel is fixed if a part of it is.
  ChannelMap finish() {
    std::vector<ChannelId> numbers(same_.size(), 0), groups(same_.size(), 0);
    ChannelMap map;
    for (ChannelId id = 0; id < same_.size(); ++id) {
      const ChannelId root = same_.find(id);
      if (root == id) {
        numbers[id] = static_cast<ChannelId>(map.fixed.size());
        map.fixed.emplace_back();
        map.groups.push_back(groups_.find(id));
      }
      if (map.fixed[numbers[root]].empty()) map.fixed[numbers[root]] = reasons_[id];
    }
    for (Channels& value : channels_)
      for (ChannelId& channel : value) channel = numbers[same_.find(channel)];
    map.channels = std::move(channels_);
    return map;
  }

  const Graph& graph_;
  const std::vector<std::vector<std::size_t>> users_;
  std::vector<Channels> channels_;  // by value
  Sets same_;                       // parts of one channel
  Sets groups_;
  std::vector<std::string> reasons_;  // why a part is fixed; empty: it is not
};

}  // namespace

ChannelMap map_channels(const Graph& graph) { return MapBuilder(graph).run(); }

bool is_depthwise(const Graph& graph, const Node& node) {
  if (node.kind != OpKind::kConv) return false;
  const std::int64_t inputs = graph.value(node.inputs[0]).type.shape[1];
  return inputs > 1 && std::get<ConvAttributes>(node.attributes).groups == inputs;
}

std::ptrdiff_t channel_axis_of_operand(const Graph& graph, const Node& node, std::size_t operand) {
  const Shape& own = graph.value(node.inputs[operand]).type.shape;
  const auto axis = static_cast<std::ptrdiff_t>(own.size()) -
                    static_cast<std::ptrdiff_t>(graph.value(node.output).type.shape.size()) + 1;
  return axis >= 0 && own[static_cast<std::size_t>(axis)] != 1 ? axis : -1;
}

}  // namespace unstarve::infer
