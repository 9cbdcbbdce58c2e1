#pragma once
// Structured pruning: removes the least important channels of a graph, so that tensors shrink and any engine computes
// faster. The result needs training: the outputs change.
//
//   graph ─▶ map_channels() ─▶ choose_channels() ─▶ remove_channels() ─▶ smaller graph
//
// Threads: pure.

#include <cstdint>
#include <string>
#include <vector>

#include "unstarve/infer/pruning/channel_choice.h"

namespace unstarve::infer {

struct LayerChannels {
  std::string name{};                  // of the weights
  std::int64_t before = 0, after = 0;  // output channels
  std::string fixed{};                 // why they are all fixed; empty: some can be removed
};

struct ChannelPruning {
  Graph graph{};
  std::vector<LayerChannels> layers{};  // convolutions and matrix products, in the order of the graph
  double multiply_adds_before = 0, multiply_adds_after = 0;
  std::int64_t parameters_before = 0, parameters_after = 0;
};

// Removes about `share` of the multiply-adds. Throws Error(kInput) with the reasons if no channel of the graph can be
// removed; otherwise as choose_channels().
[[nodiscard]] ChannelPruning prune_channels(const Graph& graph, double share, const ChannelLimits& limits = {});

}  // namespace unstarve::infer
