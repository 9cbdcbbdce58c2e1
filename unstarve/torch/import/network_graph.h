#pragma once
// The graph of a network: its evaluation, traced by libtorch.
//
// Threads: that of the network. Failure: Error(kInput) for images that the network cannot process.

#include <cstdint>

#include "unstarve/core/error.h"
#include "unstarve/infer/graph/graph.h"
#include "unstarve/models/layers.h"

namespace unstarve {

[[nodiscard]] infer::TensorType image_batch(std::int64_t image_size);
[[nodiscard]] Error images_too_small(std::int64_t image_size, const c10::Error& error);

// The network is on the CPU, and is in evaluation mode afterwards. Constants have the names of its state.
[[nodiscard]] infer::Graph graph_of_network(Network& network, std::int64_t image_size);

}  // namespace unstarve
