#pragma once
// Structured pruning: removes the least important channels of a graph, so that tensors shrink and any engine computes
// faster. The result needs training: the outputs change.
//
//   graph ─▶ map_channels() ─▶ choose_channels() ─▶ remove_channels() ─▶ smaller graph
//
// Threads: pure.

#include "unstarve/infer/pruning/channel_choice.h"
#include "unstarve/train/pruning.h"

namespace unstarve::infer {

struct ChannelPruning {
  Graph graph{};
  PrunedChannels channels{};
};

// Removes about `share` of the multiply-adds. Throws Error(kInput) with the reasons if no channel of the graph can be
// removed; otherwise as choose_channels().
[[nodiscard]] ChannelPruning prune_channels(const Graph& graph, double share, const ChannelLimits& limits = {});

}  // namespace unstarve::infer
