#pragma once
// A row of MCUs as the entropy decoder goes through it: which block is next, by which tables, and where it is kept.
//
// Blocks are kept in CoefficientRows, or skipped: their bits are consumed and their DC summed, and nothing else is left
// of them.
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
  // Where it is kept: block number `step * mcu + offset` of `row`.
  CoefficientRow* row = nullptr;
  std::size_t step = 1;
  std::size_t offset = 0;
  // The same of the second of two rows of MCUs that are decoded at once; none: only one is.
  CoefficientRow* second_row = nullptr;
};

class McuRow {
 public:
  static constexpr std::size_t kMostBlocks = 6;  // of an MCU; 4:2:0: four of luma, two of chroma

  using DcSums = std::array<std::int32_t, 3>;  // per component, of all blocks so far

  // What is read, and what is carried from one MCU to the next.
  struct Stream {
    EntropyState bits;
    DcSums dc{};
  };

  // `mcus`: how many the rows of coefficients have room for.
  void assign(std::span<const McuBlock> mcu, std::size_t mcus);

  // Decodes so many MCUs to numbers first .. first + mcus - 1, zero before. False as decode_blocks(), and for blocks
  // that go on beyond their last coefficient.
  [[nodiscard]] bool keep(Stream& stream, std::size_t first, std::size_t mcus);
  // The same of two rows at once, which takes less time than one after the other (see entropy_blocks.h).
  [[nodiscard]] bool keep_two(Stream& stream, Stream& second, std::size_t first, std::size_t mcus);
  [[nodiscard]] bool skip(Stream& stream, std::size_t mcus);
  [[nodiscard]] bool skip_two(Stream& stream, Stream& second, std::size_t mcus);

 private:
  // A skipped block begins four bytes behind the one before: whatever its coefficients overwrite is DC that is not
  // there yet.
  static constexpr std::size_t kSkipped = 128;
  static constexpr std::size_t kSkippedStep = 2;
  static_assert(kSkippedStep > CoefficientRow::kDc && kSkipped <= EntropyBlocks::kMost);

  // Calls decode(blocks, first, mcus) for the MCUs of each list of blocks.
  template <class Decode>
  [[nodiscard]] bool each_kept(std::size_t first, std::size_t mcus, const Decode& decode);
  // The same for as many at a time as there is room for.
  template <class Decode>
  [[nodiscard]] bool each_skipped(std::size_t mcus, const Decode& decode);
  [[nodiscard]] bool decode(Stream& stream, EntropyBlocks& blocks, std::size_t first, std::size_t mcus) const;
  [[nodiscard]] bool decode_two(Stream& stream, Stream& second, EntropyBlocks& blocks, std::size_t first,
                                std::size_t mcus) const;
  // DC from differences to what they are, of so many blocks; false when one went on beyond its last coefficient.
  [[nodiscard]] bool sum_up(DcSums& dc, EntropyBlocks::Lane& lane, std::size_t first, std::size_t count) const;

  std::size_t blocks_ = 0;                     // of an MCU
  std::array<std::size_t, 3> of_component_{};  // how many of them
  std::vector<EntropyBlocks> kept_;            // as many MCUs in each as it has room for
  EntropyBlocks skipped_;
  std::array<std::int16_t, kSkippedStep * kSkipped + CoefficientRow::kBlockValues> skipped_values_[2]{};
};

}  // namespace unstarve
