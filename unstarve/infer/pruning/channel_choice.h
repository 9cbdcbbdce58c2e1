#pragma once
// Chooses the channels to remove.
//
// Importance: of an output channel of a layer the L2 norm of its weights, times |scale| / sqrt(variance) of a batch
//             norm that alone reads the layer, so that folding changes nothing. It is divided by the mean of the
//             layer. A channel that several layers compute has the mean of their values.
// Blocks:     the channels of a group are ordered by importance and removed in blocks, which leave multiples of
//             `multiple` channels. The blocks of all groups are removed in the order of the mean importance of their
//             channels, until the share of the multiply-adds is reached.
//
// Threads: pure.

#include <vector>

#include "unstarve/infer/pruning/channel_map.h"

namespace unstarve::infer {

struct ChannelLimits {
  std::size_t multiple = 8;    // of groups with at least twice that many channels; others lose single channels
  double least_share = 0.125;  // of the channels of a group that remain; at least `multiple`, or 1
};

// For each channel of `map`; 0 for fixed ones.
[[nodiscard]] std::vector<double> channel_importance(const Graph& graph, const ChannelMap& map);

// Multiply-adds of the graph without the channels that are `removed`. Precondition: none of them is fixed.
[[nodiscard]] double multiply_adds_without(const Graph& graph, const ChannelMap& map, const std::vector<bool>& removed);

// For each channel, whether it is removed: the blocks whose removal comes closest to `share` of the multiply-adds.
// Throws Error(kArgument) for a share that is not between 0 and 1, or that exceeds what the limits permit.
[[nodiscard]] std::vector<bool> choose_channels(const Graph& graph, const ChannelMap& map, double share,
                                                const ChannelLimits& limits = {});

}  // namespace unstarve::infer
