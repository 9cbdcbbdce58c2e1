#pragma once
// Checkpoints of networks that are graphs: next to the state, the metadata contain the structure.
//
//   unstarve.graph   the graph without weights (graph/structure.h) as an ONNX file, in base64
//   unstarve.modules "zoo": the structure is that of the network of the zoo that the file names, whose modules train it
//   unstarve.int8    names of the activations whose limits are the tensor "quantisation.limits", one per line; only of
//                    quantisation-aware training
//
// Threads: pure. Failure: Error(kInput), without the name of the file.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "unstarve/infer/graph/graph.h"
#include "unstarve/models/safetensors.h"

namespace unstarve {

inline constexpr const char* kGraphKey = "unstarve.graph";
inline constexpr const char* kModulesKey = "unstarve.modules";
inline constexpr const char* kLimitsKey = "unstarve.int8";

[[nodiscard]] std::string text_of_structure(const infer::Graph& structure);
[[nodiscard]] std::string text_of_names(const std::vector<std::string>& names);

// Whether the file contains a structure, and whether it is not that of a network of the zoo.
[[nodiscard]] bool has_graph(const SafetensorsHeader& header);
[[nodiscard]] bool has_own_graph(const SafetensorsHeader& header);
// The graph with the weights and limits of the file. Does not trust it, but does not check its checksums.
// Precondition: has_graph().
[[nodiscard]] infer::Graph graph_of_checkpoint(const SafetensorsHeader& header, std::span<const std::uint8_t> bytes);

}  // namespace unstarve
