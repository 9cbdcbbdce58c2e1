#pragma once
// A network's weights and statistics to and from safetensors, under torchvision's state_dict names.
//
// Ownership: the tensors of a StateEntry share memory with the network.
// Failure:   Error(kInput) that names the first tensor that is missing, unknown or of another shape; nothing has been
//            changed then.

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
  bool optional = false;  // keeps its value when a file lacks it
};

// Parameters and buffers in the order of registration. The count of batches is optional: old files do not have it.
[[nodiscard]] std::vector<StateEntry> network_state(const Network& network);

// Fills the entries from a file's tensors. Floating types convert; integers must match. Tensors of the file without an
// entry are refused.
void load_state(std::span<const StateEntry> entries, const SafetensorsHeader& header,
                std::span<const std::uint8_t> file, const std::string& origin);

// The whole file in memory, tensors row-major whatever their memory format.
void save_state(std::span<const StateEntry> entries, const std::map<std::string, std::string>& metadata,
                const std::filesystem::path& path);

}  // namespace unstarve
