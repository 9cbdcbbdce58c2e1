#include "unstarve/infer/pruning/channel_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/infer/graph/multiply_adds.h"

namespace unstarve::infer {
namespace {

// The L2 norm of the weights of each output channel.
std::vector<double> row_norms(const Graph& graph, const Node& layer) {
  const Tensor& weights = *graph.value(layer.inputs[1]).constant;
  const bool rows_first = layer.kind == OpKind::kConv ||
                          (layer.kind == OpKind::kGemm && std::get<GemmAttributes>(layer.attributes).transpose_b);
  const auto rows = static_cast<std::size_t>(weights.type.shape[rows_first ? 0 : 1]);
  const std::vector<float> values = floats_of(weights);
  const std::size_t length = values.size() / rows;
  std::vector<double> norms(rows, 0);
  for (std::size_t i = 0; i < values.size(); ++i)
    norms[rows_first ? i / length : i % rows] += static_cast<double>(values[i]) * values[i];
  for (double& norm : norms) norm = std::sqrt(norm);
  return norms;
}

// By what a batch norm multiplies each channel; empty unless its parameters are constants.
std::vector<double> norm_scales(const Graph& graph, const Node& norm) {
  std::vector<std::vector<float>> parts;
  for (const std::size_t i : {1, 4}) {
    if (!graph.value(norm.inputs[i]).constant) return {};
    parts.push_back(floats_of(*graph.value(norm.inputs[i]).constant));
  }
  const double epsilon = std::get<NormAttributes>(norm.attributes).epsilon;
  std::vector<double> scales;
  for (std::size_t i = 0; i < parts[0].size(); ++i)
    scales.push_back(std::abs(parts[0][i]) / std::sqrt(std::max(parts[1][i] + epsilon, 1e-30)));
  return scales;
}

bool is_layer(const Graph& graph, const Node& node) {
  const bool computes = node.kind == OpKind::kConv || node.kind == OpKind::kGemm || node.kind == OpKind::kMatMul;
  return computes && graph.value(node.inputs[1]).constant && is_float(graph.value(node.inputs[1]).type.element) &&
         graph.value(node.inputs[1]).type.shape.size() >= 2;
}

// Channels that are removed together, and their importance.
struct Block {
  double importance = 0;
  std::vector<ChannelId> channels{};
};

// Of the channels of one group, the least important first.
void add_blocks(std::vector<ChannelId> channels, const std::vector<double>& importance, const ChannelLimits& limits,
                std::vector<Block>& blocks) {
  std::ranges::stable_sort(channels, {}, [&](ChannelId channel) { return importance[channel]; });
  const std::size_t multiple = channels.size() >= 2 * limits.multiple ? limits.multiple : 1;
  const auto share = static_cast<std::size_t>(std::ceil(limits.least_share * static_cast<double>(channels.size())));
  const std::size_t least = std::max((share + multiple - 1) / multiple * multiple, multiple);
  for (std::size_t kept = channels.size(), at = 0; kept > least;) {
    const std::size_t length = kept % multiple != 0 ? kept % multiple : multiple;
    Block block;
    for (std::size_t i = at; i < at + length; ++i) {
      block.channels.push_back(channels[i]);
      block.importance += importance[channels[i]] / static_cast<double>(length);
    }
    blocks.push_back(std::move(block));
    at += length;
    kept -= length;
  }
}

std::vector<Block> blocks_of(const Graph& graph, const ChannelMap& map, const ChannelLimits& limits) {
  std::map<std::uint32_t, std::vector<ChannelId>> groups;
  for (ChannelId channel = 0; channel < map.count(); ++channel)
    if (map.removable(channel)) groups[map.groups[channel]].push_back(channel);
  const std::vector<double> importance = channel_importance(graph, map);
  std::vector<Block> blocks;
  for (auto& [group, channels] : groups) add_blocks(std::move(channels), importance, limits, blocks);
  std::ranges::stable_sort(blocks, {}, &Block::importance);
  return blocks;
}

std::vector<bool> removed_by(std::span<const Block> blocks, std::size_t channels) {
  std::vector<bool> removed(channels, false);
  for (const Block& block : blocks)
    for (const ChannelId channel : block.channels) removed[channel] = true;
  return removed;
}

double share_kept(const std::vector<ChannelId>& channels, const std::vector<bool>& removed) {
  if (channels.empty()) return 1;
  const auto kept = std::ranges::count_if(channels, [&](ChannelId channel) { return !removed[channel]; });
  return static_cast<double>(kept) / static_cast<double>(channels.size());
}

}  // namespace

std::vector<double> channel_importance(const Graph& graph, const ChannelMap& map) {
  const std::vector<std::vector<std::size_t>> users = graph.users();
  std::vector<double> sums(map.count(), 0);
  std::vector<int> layers(map.count(), 0);
  for (const Node& node : graph.nodes) {
    const std::vector<ChannelId>& channels = map.channels[node.output];
    if (!is_layer(graph, node) || std::ranges::none_of(channels, [&](ChannelId c) { return map.removable(c); }))
      continue;
    std::vector<double> values = row_norms(graph, node);
    if (users[node.output].size() == 1 && !graph.is_output(node.output)) {
      const Node& user = graph.nodes[users[node.output][0]];
      const std::vector<double> scales =
          user.kind == OpKind::kBatchNormalization ? norm_scales(graph, user) : std::vector<double>{};
      for (std::size_t i = 0; i < scales.size(); ++i) values[i] *= scales[i];
    }
    double mean = 0;
    for (const double value : values) mean += value / static_cast<double>(values.size());
    for (std::size_t i = 0; i < channels.size(); ++i) {
      sums[channels[i]] += mean > 0 ? values[i] / mean : 0;
      ++layers[channels[i]];
    }
  }
  for (ChannelId channel = 0; channel < map.count(); ++channel)
    sums[channel] = map.removable(channel) && layers[channel] > 0 ? sums[channel] / layers[channel] : 0;
  return sums;
}

double multiply_adds_without(const Graph& graph, const ChannelMap& map, const std::vector<bool>& removed) {
  double sum = 0;
  for (const Node& node : graph.nodes) {
    const double all = multiply_adds(graph, node);
    if (all == 0) continue;
    const double inputs = is_depthwise(graph, node) ? 1 : share_kept(map.channels[node.inputs[0]], removed);
    sum += all * inputs * share_kept(map.channels[node.output], removed);
  }
  return sum;
}

std::vector<bool> choose_channels(const Graph& graph, const ChannelMap& map, double share,
                                  const ChannelLimits& limits) {
  if (!(share > 0 && share < 1))
    throw Error(ErrorKind::kArgument,
                fmt::format("prune channels: found the share {} of the multiply-adds; expected more than 0 and less "
                            "than 1",
                            share));
  const std::vector<Block> blocks = blocks_of(graph, map, limits);
  const double all = multiply_adds(graph);
  // Of the multiply-adds, without the first `count` blocks.
  const auto removed_share = [&](std::size_t count) {
    return 1 - multiply_adds_without(graph, map, removed_by(std::span(blocks).first(count), map.count())) / all;
  };
  const double most = removed_share(blocks.size());
  if (most < share)
    throw Error(ErrorKind::kArgument,
                fmt::format("prune channels: found that at most {:.1f} % of the multiply-adds can be removed; expected "
                            "at least {:.1f} %. Request a smaller share",
                            100 * most, 100 * share));
  std::size_t low = 0, high = blocks.size();  // removed_share(low) < share <= removed_share(high)
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (removed_share(middle) < share ? low : high) = middle;
  }
  const std::size_t count = share - removed_share(low) < removed_share(high) - share ? low : high;
  return removed_by(std::span(blocks).first(std::max<std::size_t>(count, 1)), map.count());
}

}  // namespace unstarve::infer
