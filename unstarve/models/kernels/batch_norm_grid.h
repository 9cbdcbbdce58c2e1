#pragma once
// How the threads of a GPU divide a tensor of rows of channels among themselves, for the passes of batch_norm_blocks.h.
//
//                    channels, `vector` per thread
//            +----------------+----------------+---
//   rows     | block (0, 0)   | block (1, 0)   |      a block: 256 threads, `lanes` wide
//            +----------------+----------------+---
//            | block (0, 1)   | block (1, 1)   |
//
// The division depends only on the sizes, and so do the sums. Threads: pure.

#include <cstdint>

namespace unstarve {

enum class NormElement : std::uint8_t { kFloat32, kFloat16, kBfloat16 };
[[nodiscard]] constexpr int bytes_of(NormElement type) { return type == NormElement::kFloat32 ? 4 : 2; }

struct NormGrid {
  static constexpr int kThreads = 256;
  // Threads that join the sums of all row blocks for 32 channels.
  static constexpr int kJoinLanes = 32, kJoinThreads = 256;

  std::int64_t rows = 0, channels = 0;
  int vector = 1;  // adjacent channels of a thread, read by one instruction
  int lanes = 1;   // threads next to each other, a power of two
  int channel_blocks = 1, row_blocks = 1;
  std::int64_t block_rows = 1;

  [[nodiscard]] constexpr int row_threads() const { return kThreads / lanes; }
  [[nodiscard]] constexpr int join_blocks() const { return static_cast<int>((channels + kJoinLanes - 1) / kJoinLanes); }
  // float32 values of two sums per channel and row block.
  [[nodiscard]] constexpr std::int64_t workspace() const { return 2 * channels * row_blocks; }
};

// Precondition: rows and channels are at least 1, and `vector` divides `channels`.
[[nodiscard]] NormGrid norm_grid(std::int64_t rows, std::int64_t channels, int vector);

// The largest number of channels that one instruction of 16 bytes can read or write, or 1: rows and all addresses must
// be multiples of 16. `addresses`: the bits of all addresses, joined by "or".
[[nodiscard]] int norm_vector(std::int64_t channels, NormElement type, std::uintptr_t addresses);

}  // namespace unstarve
