#pragma once
// The header of an idx file, the format of MNIST, Fashion-MNIST and EMNIST: a pure parser.
//
// Layout (http://yann.lecun.com/exdb/mnist, "the idx file format"), numbers big-endian:
//
//   | 0 | 0 | type | dimensions d | d lengths u32 | elements, the last dimension fastest |
//
//   type  0x08 u8, 0x09 i8, 0x0B i16, 0x0C i32 (0x0D f32 and 0x0E f64 hold neither images nor labels here)
//
// Images are u8 of 3 dimensions (count, rows, columns), magic 0x00000803, or 4 (the last being 1 or 3 channels); labels
// have 1 dimension, magic 0x00000801.
//
// Checked:   that the file is exactly as long as its header says. Threads: pure functions.
// Failure:   Error(kInput) with what was found, without the file (the caller adds it).

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "unstarve/storage/source/first_bytes.h"

namespace unstarve {

inline constexpr int kMaxIdxDimensions = 4;
inline constexpr std::size_t kMaxIdxHeaderBytes = 4 + 4 * kMaxIdxDimensions;

struct IdxHeader {
  std::uint8_t type = 0x08;
  std::vector<std::uint64_t> shape;
  std::size_t element_bytes = 1;
  bool is_signed = false;
  std::size_t header_bytes = 0;
  std::uint64_t data_bytes = 0;  // of all elements
};

// What the header says, whatever follows. `head`: the first kMaxIdxHeaderBytes, or all when the file is shorter.
// `data_bytes` of 2^64 and more is 2^64 - 1.
[[nodiscard]] IdxHeader read_idx_header(std::span<const std::uint8_t> head);
// The same, with a look at the file's whole length.
[[nodiscard]] IdxHeader parse_idx_header(std::span<const std::uint8_t> head, std::uint64_t file_bytes);

}  // namespace unstarve
