#include "unstarve/models/weights.h"

#include <array>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

constexpr std::array<std::pair<std::string_view, torch::ScalarType>, 6> kTypes{{{"F32", torch::kFloat32},
                                                                                {"F64", torch::kFloat64},
                                                                                {"F16", torch::kFloat16},
                                                                                {"BF16", torch::kBFloat16},
                                                                                {"I64", torch::kInt64},
                                                                                {"I32", torch::kInt32}}};

[[nodiscard]] Error bad_weights(const std::string& origin, const std::string& what) {
  return {ErrorKind::kInput, fmt::format("loading weights {}: {}", origin, what)};
}

// The type of a stored tensor; throws if it cannot be converted to the type of the entry.
torch::ScalarType readable_type(const StoredTensor& stored, const StateEntry& entry, const std::string& origin) {
  for (const auto& [name, type] : kTypes) {
    if (name == stored.type && torch::isFloatingType(type) == entry.tensor.is_floating_point()) return type;
  }
  throw bad_weights(origin, fmt::format("tensor \"{}\" has type {}, expected {}", stored.name, stored.type,
                                        entry.tensor.is_floating_point() ? "a floating type" : "an integer type"));
}

}  // namespace

std::vector<StateEntry> network_state(const Network& network) {
  std::vector<StateEntry> entries;
  for (const auto& item : network.named_parameters()) entries.push_back({item.key(), item.value(), false});
  for (const auto& item : network.named_buffers()) {
    entries.push_back({item.key(), item.value(), item.key().ends_with(".num_batches_tracked")});
  }
  return entries;
}

void load_state(std::span<const StateEntry> entries, const SafetensorsHeader& header,
                std::span<const std::uint8_t> file, const std::string& origin) {
  std::vector<std::pair<const StateEntry*, torch::Tensor>> found;
  std::set<std::string_view> used;
  for (const StateEntry& entry : entries) {
    const StoredTensor* stored = header.find(entry.name);
    if (stored == nullptr) {
      if (entry.optional) continue;
      throw bad_weights(origin, fmt::format("tensor \"{}\" of the model is missing", entry.name));
    }
    if (entry.tensor.sizes() != torch::IntArrayRef(stored->shape)) {
      throw bad_weights(
          origin, fmt::format("tensor \"{}\" has shape [{}], expected [{}]", entry.name, fmt::join(stored->shape, ", "),
                              fmt::join(entry.tensor.sizes().vec(), ", ")));
    }
    const torch::ScalarType type = readable_type(*stored, entry, origin);
    // Copied as bytes, because the data may be unaligned.
    torch::Tensor value = torch::empty(stored->shape, torch::dtype(type));
    const std::size_t bytes = stored->end - stored->begin;
    if (bytes > 0) std::memcpy(value.data_ptr(), file.data() + stored->begin, bytes);
    found.emplace_back(&entry, std::move(value));
    used.insert(entry.name);
  }
  for (const StoredTensor& stored : header.tensors) {
    if (!used.contains(stored.name)) {
      throw bad_weights(origin, fmt::format("tensor \"{}\" does not belong to the model", stored.name));
    }
  }
  const torch::NoGradGuard no_grad;
  for (const auto& [entry, value] : found) entry->tensor.detach().copy_(value);
}

void save_state(std::span<const StateEntry> entries, const std::map<std::string, std::string>& metadata,
                const std::filesystem::path& path) {
  std::vector<torch::Tensor> values;
  std::vector<TensorToStore> tensors;
  for (const StateEntry& entry : entries) {
    values.push_back(entry.tensor.detach().to(torch::kCPU).contiguous());
    const torch::Tensor& value = values.back();
    std::string type;
    for (const auto& [name, scalar] : kTypes) {
      if (scalar == value.scalar_type()) type = name;
    }
    tensors.push_back(
        {entry.name, type, value.sizes().vec(), {static_cast<const std::uint8_t*>(value.data_ptr()), value.nbytes()}});
  }
  write_safetensors(path, tensors, metadata);
}

}  // namespace unstarve
