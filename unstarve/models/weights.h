#pragma once
// Saves and loads weights and statistics of a network as safetensors, with the names of torchvision's state_dict.
//
// Ownership: the tensors of a StateEntry share memory with the network.
// Failure:   Error(kInput) with the first tensor that is missing, unknown or of another shape; nothing is changed.

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <torch/types.h>

#include "unstarve/models/layers.h"
#include "unstarve/models/safetensors.h"

namespace unstarve {

struct StateEntry {
  std::string name;
  torch::Tensor tensor;
  bool optional = false;  // keeps its value if it is missing in a file
  bool infinite = false;  // Network::is_infinite()
};

// Parameters and buffers in the order of registration. Optional are num_batches_tracked, because old files lack it, and
// the limits of quantisation-aware training, which may begin with other weights.
[[nodiscard]] std::vector<StateEntry> network_state(const Network& network);

// A safetensors file to load from, borrowed.
struct StateFile {
  const SafetensorsHeader& header;
  std::span<const std::uint8_t> bytes;
  std::string origin;  // its name in messages
};

// Fills the entries from the tensors of a file. Floating types are converted; integer types must match. Additional
// tensors are rejected, except those whose names begin with a word of `ignored`. Entries whose names begin with
// `replaceable`, unless that is empty, keep their values if the file has them in another shape or not at all; their
// names are returned.
struct LoadOptions {
  std::string replaceable{};
  std::vector<std::string> ignored{};
};
std::vector<std::string> load_state(std::span<const StateEntry> entries, const StateFile& file,
                                    const LoadOptions& options = {});

struct FileSizes {
  std::int64_t bytes = 0;
  std::int64_t zip_bytes = 0;  // compressed as in a zip archive, by deflate at level 9
};

// A copy of state in host memory, row-major regardless of the memory format.
class StateCopy {
 public:
  // Waits for the device.
  StateCopy(std::span<const StateEntry> entries, std::map<std::string, std::string> metadata);
  // Writes a safetensors file atomically. Any thread.
  void write(const std::filesystem::path& path) const;
  // Of the file of write(). Compresses it, in memory, which takes seconds for large networks.
  [[nodiscard]] FileSizes file_sizes() const;
  // The name of the first tensor with NaN or infinity that load_state() would reject; "": none. Any thread.
  [[nodiscard]] std::string not_finite() const;
  // Copies the values back. `entries`: the same ones, in the same order; otherwise returns false and changes nothing.
  [[nodiscard]] bool load(std::span<const StateEntry> entries) const;

 private:
  [[nodiscard]] std::vector<TensorToStore> tensors() const;  // borrowed

  std::vector<StateEntry> entries_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace unstarve
