#pragma once
// Computes one node of a model graph by libtorch's operators, on any device and with gradients.
//
// Threads: as the operators. Failure: exceptions of libtorch; Error(kInput) for a form that libtorch lacks.

#include <vector>

#include <torch/types.h>

#include "unstarve/infer/graph/graph.h"

namespace unstarve {

// `inputs`: of the node, in its order. Batch norm is that of evaluation, dropout does nothing. Sizes of images may
// differ from those in the graph, unless the node has a fixed shape. Scalars may be on the host.
[[nodiscard]] torch::Tensor compute_node(const infer::Node& node, const std::vector<torch::Tensor>& inputs);

// A copy of a tensor of a graph, on the host; and back, from any device.
[[nodiscard]] torch::Tensor torch_tensor_of(const infer::Tensor& tensor);
[[nodiscard]] infer::Tensor graph_tensor_of(const torch::Tensor& tensor);

}  // namespace unstarve
