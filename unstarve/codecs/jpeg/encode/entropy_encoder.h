#pragma once
// Encodes quantised coefficients to the bits of a baseline scan (T.81, F.1.2), without byte stuffing.
//
// Processes several MCUs at a time in passes that do one thing each with hardly any unpredictable branch: collect the
// positions of nonzero coefficients (in one list for all blocks), compute the runs of zeros between them, look up the
// code entries, and pack the bits (bit_packer.h). Encoding one coefficient after the other takes 1.5 times as long,
// because the branches at the end of a block and of a word of bits are unpredictable.
//
// Ownership: owns about 60 KB of scratch memory. Threads: one at a time.
// Failure:   none. Precondition: coefficients of 8-bit samples, DC within -1024..1023, AC within -1023..1023.

#include <array>
#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/jpeg/encode/bit_packer.h"
#include "unstarve/codecs/jpeg/encode/scan_codes.h"
#include "unstarve/codecs/jpeg/encode/zigzag_row.h"

namespace unstarve {

// One component's blocks in one row of MCUs. An MCU has `horizontal` x `vertical` blocks, row by row. Blocks outside of
// the image (from `blocks` on in x, from `block_rows` on in y) are encoded without detail.
struct McuBlocks {
  std::array<const ZigzagRow*, 2> rows{};
  std::size_t horizontal = 1;
  std::size_t vertical = 1;
  std::size_t blocks = 0;
  std::size_t block_rows = 0;
};

// Luma, Cb, Cr.
using McuRowBlocks = std::array<McuBlocks, 3>;

class EntropyEncoder {
 public:
  // A block takes at most 64 symbols of 26 bits.
  static constexpr std::size_t kBlockBytes = 64 * 26 / 8;
  static constexpr std::size_t kSlack = BitPacker::kSlack + 1;

  // Starts a new scan.
  void begin();

  // Appends `mcus` MCUs, writes all complete bytes and returns their number. `out` has room for kBlockBytes per block,
  // plus kSlack.
  [[nodiscard]] std::size_t append(const McuRowBlocks& row, std::size_t mcus, std::uint8_t* out);

  // Writes the last bits; returns 0 or 1 bytes.
  [[nodiscard]] std::size_t finish(std::uint8_t* out) { return packer_.finish(out); }

  // The symbols of a few MCUs. A word is position << 8 | chroma << 7 | low seven bits of value + 64. DC, ends of blocks
  // and large values do not fit a word and have a `special` entry for their slot.
  struct Symbols {
    static constexpr std::size_t kMcus = 8;
    static constexpr std::size_t kMost = kMcus * 6 * 64;
    static constexpr std::size_t kSlack = 64;
    // words[kBefore + i] is slot i; the word before the first is read but not used.
    static constexpr std::size_t kBefore = 1;

    std::size_t count = 0;
    std::size_t special_count = 0;
    alignas(64) std::array<std::uint16_t, kMost + kSlack> words{};
    alignas(64) std::array<std::uint16_t, kMost + kSlack> indices{};
    alignas(64) std::array<std::uint32_t, kMost + kSlack> entries{};
    alignas(64) std::array<std::uint64_t, kMost / 2 + kSlack> joined{};
    struct Special {
      std::uint32_t slot = 0;
      std::uint32_t entry = 0;
    };
    std::array<Special, kMost + kSlack> special{};
  };

 private:
  std::array<int, 3> dc_{};  // each component's previous DC value
  BitPacker packer_;
  Symbols symbols_;
};

}  // namespace unstarve
