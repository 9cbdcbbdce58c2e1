#pragma once
// From quantised coefficients to the bits of a baseline scan (T.81, F.1.2), without byte stuffing.
//
// Symbols are made for several MCUs at a time in passes that do one thing each and have next to no unforeseeable
// branch: where the coefficients of a block that are not zero lie (collected to one list for all blocks), which runs of
// zeros are between them, what entry of the code tables that means, and last the packing (bit_packer.h). Going from
// coefficient to coefficient and writing each as it comes takes half as long again: its branches, when a block ends and
// when a word of bits is full, cannot be foretold.
//
// Ownership: holds some 60 KB to work in. Threads: one at a time.
// Failure:   none; coefficients are those of 8-bit samples: DC within -1024..1023, AC within -1023..1023.

#include <array>
#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/jpeg/encode/bit_packer.h"
#include "unstarve/codecs/jpeg/encode/scan_codes.h"
#include "unstarve/codecs/jpeg/encode/zigzag_row.h"

namespace unstarve {

// One component's blocks of one row of MCUs. An MCU has `horizontal` x `vertical` of them, row by row; those that lie
// outside of the image (from `blocks` on in x, from `block_rows` on in y) are encoded as having no detail.
struct McuBlocks {
  std::array<const ZigzagRow*, 2> rows{};
  std::size_t horizontal = 1;
  std::size_t vertical = 1;
  std::size_t blocks = 0;
  std::size_t block_rows = 0;
};

// Luma, Cb, Cr.
using McuRow = std::array<McuBlocks, 3>;

class EntropyEncoder {
 public:
  // A block takes at most 64 symbols of 26 bits.
  static constexpr std::size_t kBlockBytes = 64 * 26 / 8;
  static constexpr std::size_t kSlack = BitPacker::kSlack + 1;

  // A new scan.
  void begin();

  // Appends `mcus` MCUs and writes the bytes that are whole; returns how many. `out` has room for kBlockBytes for every
  // block and kSlack.
  [[nodiscard]] std::size_t append(const McuRow& row, std::size_t mcus, std::uint8_t* out);

  // The last bits: 0 or 1 bytes.
  [[nodiscard]] std::size_t finish(std::uint8_t* out) { return packer_.finish(out); }

  // The symbols of a few MCUs. A word is a place << 8 | chroma << 7 | low seven bits of value + 64; what a word cannot
  // tell (DC, ends of blocks, large values) is an entry of its own for that slot.
  struct Symbols {
    static constexpr std::size_t kMcus = 8;
    static constexpr std::size_t kMost = kMcus * 6 * 64;
    static constexpr std::size_t kSlack = 64;
    // words[kBefore + i] is slot i: the word before the first is read, and not used.
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
  std::array<int, 3> dc_{};  // each component's DC value before
  BitPacker packer_;
  Symbols symbols_;
};

}  // namespace unstarve
