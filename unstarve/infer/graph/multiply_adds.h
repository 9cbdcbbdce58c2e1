#pragma once
// The cost of a graph: multiply-adds of a forward pass, and trained parameters.
//
// As the literature does, only convolutions and matrix products count: no bias, batch norm, activation or pooling. For
// ResNet-50 and images of 224 pixels that is 4.09e9.
//
// Threads: pure.

#include <cstdint>

#include "unstarve/infer/graph/graph.h"

namespace unstarve::infer {

// Of one image, where the batch size is open; else of the batch of the model. Products of constants count too: run the
// passes first. Precondition: a graph without violation().
[[nodiscard]] double multiply_adds(const Graph& graph);
// Of one node; 0 for all but Conv, Gemm and MatMul.
[[nodiscard]] double multiply_adds(const Graph& graph, const Node& node);

// Graph::parameters() without means and variances of batch norms: the number of parameters in the literature, before
// batch norms are folded.
[[nodiscard]] std::int64_t trained_parameters(const Graph& graph);

}  // namespace unstarve::infer
