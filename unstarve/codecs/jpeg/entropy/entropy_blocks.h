#pragma once
// Blocks of a baseline scan, in the order of the file, and their Huffman decoding: the innermost loop of JPEG decoding.
//
// Where a block ends cannot be predicted, and a processor that guesses wrong there loses more time than several symbols
// take. So nothing is guessed: every look-up, of a DC or of an AC symbol, does the same, and what follows from it
// (which table is next, which block) is selected, not branched to. Only what is rare branches: codes that one look-up
// does not resolve, and blocks that end with their last coefficient.
//
// One stream waits for itself: the next look-up needs the last one's bits. Two that are independent, as the rows of an
// index are, go in turns through one loop, and each waits under the other's work.
//
// Numbers go from -64, before DC, over -63, DC, to 0, the last coefficient: the addition that comes to it carries. The
// low six bits are the coefficient's slot (coefficients.h).
//
// Threads: one at a time. Memory: borrows tables and coefficients.
// Failure: false for data that cannot be right: no such code, more than 64 coefficients in a block, too few bytes.

#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/jpeg/entropy/huffman_table.h"
#include "unstarve/codecs/jpeg/layout/coefficients.h"

namespace unstarve {

// The stream's next bits are the top bits of `bits`, of which `count` are counted in (of `count` the low six bits mean
// something); `next` is the byte to load from. It may come to lie behind `limit`, by 56 bytes at most, whence 8 bytes
// are read; then the next call that has blocks to decode fails.
struct EntropyState {
  std::uint64_t bits = 0;
  std::uint64_t count = 0;
  const std::uint8_t* next = nullptr;
  const std::uint8_t* limit = nullptr;
};

// What the kernel reads, laid out for it: all is reached from one register.
struct EntropyBlocks {
  static constexpr std::size_t kMost = 510;
  static constexpr std::size_t kLanes = 2;

  // Per block, and one place behind the last.
  const HuffmanEntries* dc[kMost + 1];
  const HuffmanEntries* ac[kMost + 1];
  struct Lane {
    std::int16_t* values[kMost + 1];  // its slots
    // The number that a block came to: 0 for one that is full, at least kEarly (HuffmanEntry::kEndOfBlock on from DC)
    // for one that a symbol has ended. What lies between has gone on beyond the last coefficient.
    std::uint8_t ends[kMost + 1];
  };
  Lane lanes[kLanes];
  static constexpr std::uint8_t kEarly = 66;
  std::size_t count = 0;
  bool skipped = false;  // of the blocks, DC alone will be looked at

  // Set for one run of the kernel.
  std::size_t end = 0;
  const std::uint8_t* limit = nullptr;
  std::int64_t before_dc = -64;
  std::uint64_t at[kLanes] = {};    // the next bit; bits are counted from address 0
  std::uint64_t last[kLanes] = {};  // the first bit of `limit`
};

// Decodes blocks first .. end - 1 of lane 0: their coefficients, which are zero before, with DC as the difference to
// the block before, and their ends, which alone show a block that goes on beyond its last coefficient.
[[nodiscard]] bool decode_blocks(EntropyState& state, EntropyBlocks& blocks, std::size_t first, std::size_t end);
// The same blocks of both lanes, from a stream each.
[[nodiscard]] bool decode_blocks_of_two(EntropyState& lane0, EntropyState& lane1, EntropyBlocks& blocks,
                                        std::size_t first, std::size_t end);

}  // namespace unstarve
