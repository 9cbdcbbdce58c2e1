#pragma once
// Reads and writes the safetensors file format: named arrays. Does not trust the file; does not need torch.
//
//   +----------+----------------------------------------------+---------------------------+
//   | 8 bytes  | n bytes of JSON, may end in spaces           | the arrays, back to back  |
//   | n, LE    | {"__metadata__": {"key": "text", ...},       | little endian, row-major  |
//   |          |  "conv1.weight": {"dtype": "F32",            |                           |
//   |          |     "shape": [64, 3, 7, 7],                  |                           |
//   |          |     "data_offsets": [begin, end]}, ...}      |                           |
//   +----------+----------------------------------------------+---------------------------+
//
// Offsets count from the first byte after the JSON. The format requires arrays without gap or overlap and unique names;
// other files are rejected.
//
// Ownership: a parsed header contains only offsets and does not refer to the file.
// Failure:   Error(kInput) with the file's name, what was found and what was expected.
// Checksums: files written here have the metadata "unstarve.crc32", the CRC-32 of all arrays, and
//            "unstarve.metadata_crc32", that of the other metadata whose keys begin with "unstarve.", in hexadecimal.
// Cost:      reading copies only names and shapes; writing copies no array.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve {

// Bytes per element of a type by its name in the format ("F32", "BF16", ...); 0: unknown name.
[[nodiscard]] std::size_t safetensors_element_bytes(std::string_view type) noexcept;

struct StoredTensor {
  std::string name;
  std::string type;  // "F32"
  std::vector<std::int64_t> shape;
  std::size_t begin = 0;  // relative to the first byte of the file
  std::size_t end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<StoredTensor> tensors;  // in the order of their data

  // Null if there is no such tensor.
  [[nodiscard]] const StoredTensor* find(std::string_view name) const noexcept;
};

// `origin`: name of the file in messages.
[[nodiscard]] SafetensorsHeader parse_safetensors(std::span<const std::uint8_t> file, const std::string& origin);

// An array to write, borrowed. Precondition, else Error(kArgument): bytes.size() is the number of elements times their
// size.
struct TensorToStore {
  std::string name;
  std::string type;
  std::vector<std::int64_t> shape;
  std::span<const std::uint8_t> bytes;
};

// Throws Error(kInput) if the header has a checksum that differs from that of the file's arrays.
void check_checksum(const SafetensorsHeader& header, std::span<const std::uint8_t> file, const std::string& origin);

// The beginning of a file: length and JSON, with the checksum. The arrays follow in this order.
[[nodiscard]] std::string format_safetensors_header(std::span<const TensorToStore> tensors,
                                                    std::map<std::string, std::string> metadata);
// Writes the file atomically (core/file.h).
void write_safetensors(const std::filesystem::path& path, std::span<const TensorToStore> tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace unstarve
