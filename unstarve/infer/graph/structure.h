#pragma once
// The structure of a model without its weights, and back: weights live elsewhere, for example in a network that is
// trained or in a checkpoint.
//
// Weights are the constants of one dimension or more; scalars are part of the structure. In a structure each weight is
// an input with its name and type, after the input of the model, so that a structure is an ordinary graph.
//
// Threads: pure.

#include <functional>

#include "unstarve/infer/graph/graph.h"

namespace unstarve::infer {

// Precondition: the model has one input.
[[nodiscard]] Graph without_weights(Graph graph);
// `weight` returns the tensor of an input. Throws Error(kInput) for one of another type or shape.
[[nodiscard]] Graph with_weights(Graph structure, const std::function<Tensor(const Value&)>& weight);

// The same nodes for images of this height and width. Throws Error(kInput), as infer_type(), for nodes that accept only
// those of the graph. Precondition: the first input is a batch of images.
[[nodiscard]] Graph with_image_size(Graph graph, std::int64_t image_size);

}  // namespace unstarve::infer
