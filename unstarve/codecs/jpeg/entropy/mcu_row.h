#pragma once
// A row of MCUs for the entropy decoder: the order of its blocks, their tables, and their destinations.
//
// Blocks are decoded into CoefficientRows or skipped, which only consumes their bits and sums their DC.
//
// Ownership: borrows tables and rows of coefficients until the next assign(). Threads: one at a time.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "unstarve/codecs/jpeg/entropy/entropy_blocks.h"
#include "unstarve/codecs/jpeg/layout/coefficients.h"

namespace unstarve {

// One block of an MCU, in the order of the file; blocks of a component follow each other.
struct McuBlock {
  int component = 0;
  const HuffmanTable* dc = nullptr;
  const HuffmanTable* ac = nullptr;
  // The destination: block number `step * mcu + offset` of `row`.
  CoefficientRow* row = nullptr;
  std::size_t step = 1;
  std::size_t offset = 0;
  // The same for the second of two rows of MCUs that are decoded together; null if only one is.
  CoefficientRow* second_row = nullptr;
};

class McuRow {
 public:
  static constexpr std::size_t kMostBlocks = 6;  // per MCU; 4:2:0 has four of luma, two of chroma

  using DcSums = std::array<std::int32_t, 3>;  // per component, of all blocks so far

  // The state of reading: the bits, and the DC sums carried from one MCU to the next.
  struct Stream {
    EntropyState bits;
    DcSums dc{};
  };

  // `mcus`: the number of MCUs in the rows of coefficients.
  void assign(std::span<const McuBlock> mcu, std::size_t mcus);

  // Decodes into MCUs first .. first + mcus - 1, which must be zero before. False like decode_blocks(), and for blocks
  // that exceed their last coefficient.
  [[nodiscard]] bool read(Stream& stream, std::size_t first, std::size_t mcus);
  // Two rows together; faster than one after the other (entropy_blocks.h).
  [[nodiscard]] bool read_two(Stream& stream, Stream& second, std::size_t first, std::size_t mcus);
  [[nodiscard]] bool skip(Stream& stream, std::size_t mcus);
  [[nodiscard]] bool skip_two(Stream& stream, Stream& second, std::size_t mcus);

 private:
  // Skipped blocks start four bytes apart: the coefficients of one overwrite only DC of later blocks, which are not
  // decoded yet.
  static constexpr std::size_t kSkipped = 128;
  static constexpr std::size_t kSkippedStep = 2;
  static_assert(kSkippedStep > CoefficientRow::kDc && kSkipped <= EntropyBlocks::kMost);

  // Calls decode(blocks, first, mcus) for the MCUs of each list of blocks.
  template <class Decode>
  [[nodiscard]] bool each_list(std::size_t first, std::size_t mcus, const Decode& decode);
  // The same for skipped MCUs, as many at a time as fit into the list.
  template <class Decode>
  [[nodiscard]] bool each_skipped(std::size_t mcus, const Decode& decode);
  [[nodiscard]] bool decode(Stream& stream, EntropyBlocks& blocks, std::size_t first, std::size_t mcus) const;
  [[nodiscard]] bool decode_two(Stream& stream, Stream& second, EntropyBlocks& blocks, std::size_t first,
                                std::size_t mcus) const;
  // Replaces DC differences by DC for `count` blocks. False if a block exceeds its last coefficient.
  [[nodiscard]] bool sum_up(DcSums& dc, EntropyBlocks::Lane& lane, std::size_t first, std::size_t count) const;

  std::size_t blocks_ = 0;                     // per MCU
  std::array<std::size_t, 3> of_component_{};  // per MCU and component
  std::vector<EntropyBlocks> lists_;           // each with as many MCUs as fit
  EntropyBlocks skipped_;
  std::array<std::int16_t, kSkippedStep * kSkipped + CoefficientRow::kBlockValues> skipped_values_[2]{};
};

}  // namespace unstarve
