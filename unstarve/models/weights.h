#pragma once
// Saves and loads weights and statistics of a network as safetensors, with the names of torchvision's state_dict.
//
// Ownership: the tensors of a StateEntry share memory with the network.
// Failure:   Error(kInput) with the first tensor that is missing, unknown or of another shape; nothing is changed.

#include <span>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "unstarve/models/layers.h"
#include "unstarve/models/safetensors.h"

namespace unstarve {

struct StateEntry {
  std::string name;
  torch::Tensor tensor;
  bool optional = false;  // keeps its value if it is missing in a file
};

// Parameters and buffers in the order of registration. num_batches_tracked is optional, because old files lack it.
[[nodiscard]] std::vector<StateEntry> network_state(const Network& network);

// Fills the entries from the tensors of a file. Floating types are converted; integer types must match. Additional
// tensors are rejected.
void load_state(std::span<const StateEntry> entries, const SafetensorsHeader& header,
                std::span<const std::uint8_t> file, const std::string& origin);

// Builds the whole file in memory. Tensors are stored row-major regardless of their memory format.
void save_state(std::span<const StateEntry> entries, const std::map<std::string, std::string>& metadata,
                const std::filesystem::path& path);

}  // namespace unstarve
