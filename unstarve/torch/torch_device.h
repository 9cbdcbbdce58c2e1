#pragma once
// Devices of libtorch by name, and their capabilities. Uses only libtorch's device-generic interface, so the same
// source builds against its CPU and CUDA packages.

#include <cstddef>
#include <string>

#include <torch/types.h>

#include "unstarve/train/trainer.h"

namespace unstarve {

// "cpu", "cuda", "cuda:N". Throws Error(kArgument) for another name, Error(kMissing) for a GPU that does not exist.
[[nodiscard]] torch::Device parse_device(const std::string& name);
[[nodiscard]] torch::ScalarType torch_type(Precision precision);

// See Trainer::peak_memory_bytes().
void reset_peak_memory(torch::Device device);
[[nodiscard]] std::size_t peak_memory(torch::Device device);
// See Trainer::free_device_bytes().
[[nodiscard]] std::size_t free_memory(torch::Device device);

}  // namespace unstarve
