#pragma once
// Huffman decoding of the blocks of a baseline scan, in the order of the file: the innermost loop of JPEG decoding.
//
// The end of a block cannot be predicted, and a mispredicted branch costs more time than several symbols. The loop
// therefore has no branch there: every look-up of a DC or an AC symbol does the same, and the next table and block are
// selected by conditional moves. Only rare cases branch: codes that one look-up does not resolve, and blocks that end
// with their last coefficient.
//
// A single stream is limited by latency: each look-up needs the bits after the previous one. Two independent streams,
// such as two rows of an index, alternate in one loop so that each hides the other's latency.
//
// Coefficients are numbered from -64 (before DC) and -63 (DC) to 0 (the last one), so that the addition that reaches
// the end carries. The low six bits are the coefficient's slot (layout/coefficients.h).
//
// Threads: one at a time. Memory: borrows tables and coefficients.
// Failure: false for invalid data: an unknown code, more than 64 coefficients in a block, too few bytes.

#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/jpeg/entropy/huffman_table.h"
#include "unstarve/codecs/jpeg/layout/coefficients.h"

namespace unstarve {

// The stream's next bits are the top bits of `bits`; the low six bits of `count` are the number of valid ones. `next`
// is the byte to load from. It may advance at most 56 bytes past `limit`, and 8 bytes are read from there; after that,
// the next call with blocks to decode fails.
struct EntropyState {
  std::uint64_t bits = 0;
  std::uint64_t count = 0;
  const std::uint8_t* next = nullptr;
  const std::uint8_t* limit = nullptr;
};

// The kernel's input, laid out so that one register addresses all of it.
struct EntropyBlocks {
  static constexpr std::size_t kMost = 510;
  static constexpr std::size_t kLanes = 2;

  // Per block, plus one entry after the last.
  const HuffmanEntries* dc[kMost + 1];
  const HuffmanEntries* ac[kMost + 1];
  struct Lane {
    std::int16_t* values[kMost + 1];  // the blocks' slots
    // The number that a block reached: 0 if it is full, at least kEarly (HuffmanEntry::kEndOfBlock after DC) if a
    // symbol ended it. Numbers in between mean that the block exceeds its last coefficient.
    std::uint8_t ends[kMost + 1];
  };
  Lane lanes[kLanes];
  static constexpr std::uint8_t kEarly = 66;
  std::size_t count = 0;
  bool skipped = false;  // only DC of the blocks is needed

  // Set for one run of the kernel.
  std::size_t end = 0;
  const std::uint8_t* limit = nullptr;
  std::int64_t before_dc = -64;
  std::uint64_t at[kLanes] = {};    // the next bit, counted from address 0
  std::uint64_t last[kLanes] = {};  // the first bit of `limit`
};

// Decodes blocks first .. end - 1 of lane 0. Writes their coefficients, which must be zero before, with DC as the
// difference to the previous block, and their `ends`. A block that exceeds its last coefficient is visible only in
// `ends`.
[[nodiscard]] bool decode_blocks(EntropyState& state, EntropyBlocks& blocks, std::size_t first, std::size_t end);
// Decodes the same blocks of both lanes, each from its own stream.
[[nodiscard]] bool decode_blocks_of_two(EntropyState& lane0, EntropyState& lane1, EntropyBlocks& blocks,
                                        std::size_t first, std::size_t end);

}  // namespace unstarve
