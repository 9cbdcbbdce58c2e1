#pragma once
// Element type and shape of a node's result, from those of its inputs.
//
// Threads: pure.

#include "unstarve/infer/graph/graph.h"

namespace unstarve::infer {

// Larger kernel sizes, strides, dilations and pads are rejected, so that nothing overflows.
inline constexpr std::int64_t kLargestWindow = std::int64_t{1} << 20;

// Throws Error(kInput) "node 'conv1' (Conv): <found>; expected <what>" for inputs or attributes that the operator does
// not accept, and if the shape depends on the batch size in a way that kBatch cannot express. Precondition: the inputs
// are values of the graph; everything else of the node is checked.
[[nodiscard]] TensorType infer_type(const Graph& graph, const Node& node);

}  // namespace unstarve::infer
