#pragma once
// Writes a graph as an ONNX file: opset 17, IR version 8, weights as raw data in the same file, the normalisation of
// the images in the metadata (graph/normalisation_text.h).
//
// Threads: pure.

#include <string>

#include "unstarve/infer/graph/graph.h"

namespace unstarve::infer {

// The bytes of the file. The batch size, where it is unknown, has the name "batch". Precondition: a graph without
// violation(). Throws Error(kInput) if the file would exceed the 2 GiB of a protocol buffer.
[[nodiscard]] std::string format_onnx(const Graph& graph);

}  // namespace unstarve::infer
