#pragma once
// The networks that `unstarve models` compares, and their graphs.
//
// Threads: one. Failure: Error(kArgument) for unknown names and for weights that do not name their network or belong to
//          another one; else as infer/import/import_model.h. Errors name the option and the network or file.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/infer/graph/graph.h"

namespace unstarve {

// A network of the zoo with random weights, or with those of a file.
struct CandidateNetwork {
  std::string network;            // "": that of the weights; ONNX and TorchScript have any name
  std::filesystem::path weights;  // any form of import_model.h; "": random
};

// ResNets, MobileNets and EfficientNet-B0, from 1.3 to 26 million parameters.
[[nodiscard]] const std::vector<std::string>& default_networks();
// "resnet18,mobilenet_v2_0.5"; the name `default` is replaced by default_networks(). Throws for a name that is unknown
// or occurs twice.
[[nodiscard]] std::vector<CandidateNetwork> candidates_named(std::string_view list);
// "resnet18.safetensors"; "resnet18=weights.safetensors" for a file that does not name its network; "NAME=FILE" with
// any name for the row of an ONNX or TorchScript file.
[[nodiscard]] CandidateNetwork candidate_of_weights(const std::string& word);

struct CandidateGraph {
  std::string network;
  infer::Graph graph;  // before any pass
};

struct CandidateShape {
  int image_size = 224;
  int classes = 1000;  // of random weights
};

[[nodiscard]] CandidateGraph import_candidate(const CandidateNetwork& candidate, const CandidateShape& shape);

}  // namespace unstarve
