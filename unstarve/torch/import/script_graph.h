#pragma once
// Converts a graph of TorchScript, inlined and without parameters other than constants, to a model graph.
//
// aten operators become ONNX operators; SiLU and GELU become several. Integers that depend only on shapes are evaluated
// by the importer. Operators in place are converted like the others: the name that they change is bound to the result.
//
// Threads: pure. Failure: Error(kInput), without the name of the file; unsupported operators are listed all together.

#include <memory>
#include <string>
#include <unordered_map>

#include <torch/csrc/jit/ir/ir.h>
#include <torch/types.h>

#include "unstarve/infer/graph/graph.h"

namespace unstarve::infer {

// The names of tensors by the address of their data.
using TensorNames = std::unordered_map<const void*, std::string>;

// `input`: the type of the last input of `script`. Earlier ones, such as the module, are not used.
[[nodiscard]] Graph graph_of(const torch::jit::Graph& script, const TensorType& input, const TensorNames& names);

}  // namespace unstarve::infer
