#pragma once
// Removes channels from a graph: shrinks its constants, attributes and types.
//
// Threads: pure. Cost: a copy of the constants that shrink.

#include <vector>

#include "unstarve/infer/pruning/channel_map.h"

namespace unstarve::infer {

// `map` is that of `graph`; `removed` has an entry for each channel. At least one channel of each value remains, and
// none that is fixed is removed. Throws Error(kInternal) if the result has a violation().
[[nodiscard]] Graph remove_channels(Graph graph, const ChannelMap& map, const std::vector<bool>& removed);

}  // namespace unstarve::infer
