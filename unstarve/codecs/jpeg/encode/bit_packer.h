#pragma once
// Packs Huffman symbols into bytes, first bit highest.
//
// Neighbouring symbols are joined to words of two or four first, by SIMD, so that the serial part (whose place a word
// takes depends on all before it) has few steps, and no branch in them.
//
// Threads: one at a time. Failure: none.

#include <cstddef>
#include <cstdint>

namespace unstarve {

class BitPacker {
 public:
  static constexpr std::size_t kGroup = 32;  // symbols that are packed together
  static constexpr std::size_t kSlack = 8;   // bytes that are written behind the last

  void begin() {
    bits_ = 0;
    pending_ = 0;
  }

  // Appends `count` entries (scan_codes.h) and writes the bytes that are whole; returns how many. `entries` is aligned
  // to 64 bytes and has room for the next multiple of kGroup, which is overwritten; `words` for half as many. `out` has
  // room for the bits and kSlack.
  [[nodiscard]] std::size_t append(std::uint32_t* entries, std::size_t count, std::uint64_t* words, std::uint8_t* out);

  // The last bits, filled up with ones to a byte (T.81, F.1.2.3): 0 or 1 bytes.
  [[nodiscard]] std::size_t finish(std::uint8_t* out);

 private:
  std::uint64_t bits_ = 0;     // its lowest pending_ bits are not written yet
  std::uint64_t pending_ = 0;  // below 8 between calls
};

}  // namespace unstarve
