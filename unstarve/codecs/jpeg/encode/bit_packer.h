#pragma once
// Packs Huffman symbols into bytes, highest bit first.
//
// SIMD code first joins adjacent symbols to words of two or four, so that the serial part (a word's position depends on
// all previous words) has few steps and no branches.
//
// Threads: one at a time. Failure: none.

#include <cstddef>
#include <cstdint>

namespace unstarve {

class BitPacker {
 public:
  static constexpr std::size_t kGroup = 32;  // symbols packed together
  static constexpr std::size_t kSlack = 8;   // bytes that may be written after the last one

  void begin() {
    bits_ = 0;
    pending_ = 0;
  }

  // Appends `count` entries (scan_codes.h), writes all complete bytes and returns their number. `entries` is aligned to
  // 64 bytes and has room for the next multiple of kGroup entries, which are overwritten; `words` has room for half as
  // many. `out` has room for the bits and kSlack bytes.
  [[nodiscard]] std::size_t append(std::uint32_t* entries, std::size_t count, std::uint64_t* words, std::uint8_t* out);

  // Writes the last bits, padded with ones to a byte (T.81, F.1.2.3); returns 0 or 1 bytes.
  [[nodiscard]] std::size_t finish(std::uint8_t* out);

 private:
  std::uint64_t bits_ = 0;     // the lowest pending_ bits are not written yet
  std::uint64_t pending_ = 0;  // below 8 between calls
};

}  // namespace unstarve
