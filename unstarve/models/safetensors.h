#pragma once
// The safetensors file format: named arrays, read without trusting a byte of the file, written without torch.
//
//   +----------+----------------------------------------------+---------------------------+
//   | 8 bytes  | n bytes of JSON, may end in spaces           | the arrays, back to back  |
//   | n, LE    | {"__metadata__": {"key": "text", ...},       | little endian, row-major  |
//   |          |  "conv1.weight": {"dtype": "F32",            |                           |
//   |          |     "shape": [64, 3, 7, 7],                  |                           |
//   |          |     "data_offsets": [begin, end]}, ...}      |                           |
//   +----------+----------------------------------------------+---------------------------+
//
// Offsets count from the first byte after the JSON. As the format demands, the arrays cover that part without gap or
// overlap, and no name occurs twice; a file that does otherwise is refused.
//
// Ownership: a parsed header refers to the file by offsets only and outlives it.
// Threads:   free functions over plain data.
// Failure:   Error(kInput) with the file's name, what was found and what was expected.
// Cost:      reading copies names and shapes only; writing builds the whole file in memory once.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve {

// Element types by the format's own names ("F32", "BF16", ...); 0 for a name the format does not have.
[[nodiscard]] std::size_t safetensors_element_bytes(std::string_view type) noexcept;

struct StoredTensor {
  std::string name;
  std::string type;  // "F32"
  std::vector<std::int64_t> shape;
  std::size_t begin = 0;  // from the first byte of the file, unlike in the file itself
  std::size_t end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<StoredTensor> tensors;  // in the order of their data

  // Null when there is none of this name.
  [[nodiscard]] const StoredTensor* find(std::string_view name) const noexcept;
};

// `origin` names the file in messages.
[[nodiscard]] SafetensorsHeader parse_safetensors(std::span<const std::uint8_t> file, const std::string& origin);

// An array to write, borrowed. bytes.size() must be the shape's product times the element size: Error(kArgument).
struct TensorToStore {
  std::string name;
  std::string type;
  std::vector<std::int64_t> shape;
  std::span<const std::uint8_t> bytes;
};

[[nodiscard]] std::string format_safetensors(std::span<const TensorToStore> tensors,
                                             const std::map<std::string, std::string>& metadata);
// The same into a file, which appears under its name only when complete (core/file.h).
void write_safetensors(const std::filesystem::path& path, std::span<const TensorToStore> tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace unstarve
