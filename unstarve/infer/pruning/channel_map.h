#pragma once
// Which channels of a graph are the same channel, and which of them can be removed.
//
// A channel is what the layers compute together: removing it removes one index of the channel axis of every value that
// has it. The channel axis is the second one. Examples:
//
//   Conv                          its outputs are new channels
//   depthwise Conv, BatchNormalization, Relu, pooling   the channels of the input
//   Add, Mul                      index i of both inputs is one channel: residual blocks, squeeze-excitation
//   Concat                        the channels of all inputs
//   Flatten                       every channel has several columns
//
// Channels of inputs and outputs of the model are fixed: they cannot be removed. So are those of operators for which
// no rule exists, of convolutions with groups (except depthwise ones), and of weights that several layers share.
//
// Threads: pure.

#include <cstdint>
#include <string>
#include <vector>

#include "unstarve/infer/graph/graph.h"

namespace unstarve::infer {

using ChannelId = std::uint32_t;  // 0 .. ChannelMap::count() - 1

struct ChannelMap {
  // For each value that is not a constant, the channel of each index of its second axis; empty without such an axis.
  std::vector<std::vector<ChannelId>> channels{};
  // For each channel, why it is fixed; empty: it can be removed.
  std::vector<std::string> fixed{};
  // For each channel, its group: channels that one layer computes are one group, and so are groups that share a
  // channel.
  std::vector<std::uint32_t> groups{};

  [[nodiscard]] std::size_t count() const { return fixed.size(); }
  [[nodiscard]] bool removable(ChannelId channel) const { return fixed[channel].empty(); }
};

// Precondition: a graph without violation().
[[nodiscard]] ChannelMap map_channels(const Graph& graph);

// Whether each output channel of the convolution reads only its own input channel.
[[nodiscard]] bool is_depthwise(const Graph& graph, const Node& node);
// The axis of the constant operand of Add, Sub, Mul or Div that follows the channels of the result; -1: it has one
// value for all channels. Precondition: input `operand` is a constant.
[[nodiscard]] std::ptrdiff_t channel_axis_of_operand(const Graph& graph, const Node& node, std::size_t operand);

}  // namespace unstarve::infer
