#pragma once
// For tests: a small network, and the computation of graphs of a few operators without any library.

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <vector>

#include "unstarve/infer/graph/graph.h"

namespace unstarve::infer::testing {

// Values that differ from each other.
inline std::vector<float> ramp(std::size_t count, float start, float step) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = start + step * static_cast<float>((i * 7) % 11);
  return values;
}

// x [2, 2, 5, 5] -> Conv 3x3 of 4 channels -> BatchNormalization -> Relu -> Identity -> "y"
inline Graph small_network() {
  Graph graph;
  const ValueId x = graph.add_input("x", {ElementType::kFloat32, {2, 2, 5, 5}});
  const ValueId weight = graph.add_constant("conv.weight", make_tensor({4, 2, 3, 3}, ramp(72, -0.5F, 0.1F)));
  const ValueId conv =
      graph.add_node("conv", OpKind::kConv, {x, weight}, ConvAttributes{{.kernel = {3, 3}, .pads = {1, 1, 1, 1}}, 1});
  const ValueId scale = graph.add_constant("bn.weight", make_tensor({4}, std::vector<float>{1, -2, 0.5F, 3}));
  const ValueId shift = graph.add_constant("bn.bias", make_tensor({4}, std::vector<float>{0, 1, -1, 0.25F}));
  const ValueId mean = graph.add_constant("bn.mean", make_tensor({4}, std::vector<float>{0.1F, 0.2F, -0.3F, 0}));
  const ValueId variance = graph.add_constant("bn.var", make_tensor({4}, std::vector<float>{1, 0.5F, 2, 4}));
  const ValueId norm =
      graph.add_node("bn", OpKind::kBatchNormalization, {conv, scale, shift, mean, variance}, NormAttributes{1e-5F});
  const ValueId relu = graph.add_node("relu", OpKind::kRelu, {norm});
  graph.outputs = {graph.add_node("y", OpKind::kIdentity, {relu})};
  return graph;
}

// Computes the first output from one input, for Conv with strides and dilations of 1, BatchNormalization, Relu, Clip,
// MaxPool without padding, Identity and Dropout.
inline std::vector<float> compute(const Graph& graph, const std::vector<float>& input) {
  std::map<ValueId, std::vector<float>> results{{graph.inputs[0], input}};
  for (ValueId id = 0; id < graph.values.size(); ++id)
    if (graph.values[id].constant) results[id] = floats_of(*graph.values[id].constant);
  for (const Node& node : graph.nodes) {
    const std::vector<float>& x = results[node.inputs[0]];
    const Shape& from = graph.value(node.inputs[0]).type.shape;
    const Shape& to = graph.value(node.output).type.shape;
    std::vector<float> y;
    const auto at = [&](std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
      const bool inside = h >= 0 && w >= 0 && h < from[2] && w < from[3];
      return inside ? x[static_cast<std::size_t>(((n * from[1] + c) * from[2] + h) * from[3] + w)] : 0.0F;
    };
    const auto each_output = [&](auto&& value) {
      for (std::int64_t n = 0; n < to[0]; ++n)
        for (std::int64_t c = 0; c < to[1]; ++c)
          for (std::int64_t h = 0; h < to[2]; ++h)
            for (std::int64_t w = 0; w < to[3]; ++w) y.push_back(value(n, c, h, w));
    };
    switch (node.kind) {
      case OpKind::kConv: {
        const auto& [of, groups] = std::get<ConvAttributes>(node.attributes);
        const std::int64_t group_inputs = from[1] / groups, group_outputs = to[1] / groups;
        const std::vector<float>& weight = results[node.inputs[1]];
        each_output([&](std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
          float sum = node.inputs.size() == 3 ? results[node.inputs[2]][static_cast<std::size_t>(c)] : 0;
          for (std::int64_t i = 0; i < group_inputs; ++i)
            for (std::int64_t a = 0; a < of.kernel[0]; ++a)
              for (std::int64_t b = 0; b < of.kernel[1]; ++b)
                sum += at(n, c / group_outputs * group_inputs + i, h + a - of.pads[0], w + b - of.pads[1]) *
                       weight[static_cast<std::size_t>(((c * group_inputs + i) * of.kernel[0] + a) * of.kernel[1] + b)];
          return sum;
        });
        break;
      }
      case OpKind::kBatchNormalization:
        each_output([&](std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
          const auto i = static_cast<std::size_t>(c);
          return (at(n, c, h, w) - results[node.inputs[3]][i]) /
                     std::sqrt(results[node.inputs[4]][i] + std::get<NormAttributes>(node.attributes).epsilon) *
                     results[node.inputs[1]][i] +
                 results[node.inputs[2]][i];
        });
        break;
      case OpKind::kMaxPool: {
        const Window& of = std::get<PoolAttributes>(node.attributes).window;
        each_output([&](std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
          float most = at(n, c, h * of.strides[0], w * of.strides[1]);
          for (std::int64_t a = 0; a < of.kernel[0]; ++a)
            for (std::int64_t b = 0; b < of.kernel[1]; ++b)
              most = std::max(most, at(n, c, h * of.strides[0] + a, w * of.strides[1] + b));
          return most;
        });
        break;
      }
      case OpKind::kRelu:
        for (const float value : x) y.push_back(std::max(0.0F, value));
        break;
      case OpKind::kClip: {
        const auto& [low, high] = std::get<ClipAttributes>(node.attributes);
        for (const float value : x) y.push_back(std::clamp(value, low, high));
        break;
      }
      case OpKind::kIdentity:
      case OpKind::kDropout: y = x; break;
      default: throw std::logic_error("compute() does not have this operator");
    }
    results[node.output] = y;
  }
  return results[graph.outputs[0]];
}

}  // namespace unstarve::infer::testing
