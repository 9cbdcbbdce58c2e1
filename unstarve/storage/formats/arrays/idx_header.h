#pragma once
// Parses the header of an idx file, the format of MNIST, Fashion-MNIST and EMNIST.
//
// Layout (http://yann.lecun.com/exdb/mnist, "the idx file format"), numbers big-endian:
//
//   | 0 | 0 | type | dimensions d | d lengths u32 | elements, the last dimension fastest |
//
//   type  0x08 u8, 0x09 i8, 0x0B i16, 0x0C i32 (0x0D f32 and 0x0E f64 are not supported)
//
// Images are u8 with 3 dimensions (count, rows, columns), magic 0x00000803, or 4 (the last is 1 or 3 channels). Labels
// have 1 dimension, magic 0x00000801.
//
// Checked:   the file length equals the length that the header declares. Threads: pure functions.
// Failure:   Error(kInput) without the file name (the caller adds it).

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "unstarve/storage/source/first_bytes.h"

namespace unstarve {

inline constexpr int kMaxIdxDimensions = 4;
inline constexpr std::size_t kMaxIdxHeaderBytes = 4 + 4 * kMaxIdxDimensions;

struct IdxHeader {
  std::vector<std::uint64_t> shape;
  std::size_t element_bytes = 1;
  bool is_signed = false;
  std::size_t header_bytes = 0;
  std::uint64_t data_bytes = 0;  // of all elements
};

// Parses the header alone. `head`: the first kMaxIdxHeaderBytes bytes, or the whole file if it is shorter. `data_bytes`
// saturates at 2^64 - 1.
[[nodiscard]] IdxHeader read_idx_header(std::span<const std::uint8_t> head);
// The same, and checks the length of the file.
[[nodiscard]] IdxHeader parse_idx_header(std::span<const std::uint8_t> head, std::uint64_t file_bytes);

}  // namespace unstarve
