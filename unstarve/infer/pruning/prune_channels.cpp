#include "unstarve/infer/pruning/prune_channels.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/infer/graph/multiply_adds.h"
#include "unstarve/infer/pruning/remove_channels.h"

namespace unstarve::infer {
namespace {

constexpr std::size_t kListedLayers = 8;

std::vector<LayerChannels> layers_of(const Graph& graph, const ChannelMap& map) {
  std::vector<LayerChannels> layers;
  for (const Node& node : graph.nodes) {
    const std::vector<ChannelId>& channels = map.channels[node.output];
    if (multiply_adds(graph, node) == 0 || channels.empty()) continue;
    const bool all_fixed = std::ranges::none_of(channels, [&](ChannelId channel) { return map.removable(channel); });
    const auto count = static_cast<std::int64_t>(channels.size());
    layers.push_back({graph.value(node.inputs[1]).name, count, count, all_fixed ? map.fixed[channels[0]] : ""});
  }
  return layers;
}

void check_removable(const Graph& graph, const std::vector<LayerChannels>& layers) {
  if (std::ranges::any_of(layers, [](const LayerChannels& layer) { return layer.fixed.empty(); })) return;
  std::string reasons;
  for (std::size_t i = 0; i < std::min(layers.size(), kListedLayers); ++i)
    reasons += fmt::format("\n  {}: {}", layers[i].name, layers[i].fixed);
  const auto is_quantised = [](const Node& node) { return node.kind == OpKind::kDequantizeLinear; };
  const bool quantised = std::ranges::any_of(graph.nodes, is_quantised);
  if (layers.size() > kListedLayers) reasons += fmt::format("\n  and {} more", layers.size() - kListedLayers);
  throw Error(
      ErrorKind::kInput,
      fmt::format("prune channels of {}: found none that can be removed in {} layers; expected at least one "
                  "layer that neither is the last one nor has groups. {}.{}",
                  graph.name, layers.size(),
                  quantised ? "The layers are quantised: prune the model in float32" : "Use another network", reasons));
}

}  // namespace

ChannelPruning prune_channels(const Graph& graph, double share, const ChannelLimits& limits) {
  const ChannelMap map = map_channels(graph);
  std::vector<LayerChannels> layers = layers_of(graph, map);
  check_removable(graph, layers);
  Graph pruned = remove_channels(graph, map, choose_channels(graph, map, share, limits));
  std::size_t layer = 0;
  for (const Node& node : graph.nodes)
    if (multiply_adds(graph, node) != 0 && !map.channels[node.output].empty())
      layers[layer++].after = pruned.value(node.output).type.shape[1];
  PrunedChannels channels{std::move(layers), multiply_adds(graph), multiply_adds(pruned), trained_parameters(graph),
                          trained_parameters(pruned)};
  return {std::move(pruned), std::move(channels)};
}

}  // namespace unstarve::infer
