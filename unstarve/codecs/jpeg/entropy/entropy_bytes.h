#pragma once
// The bytes of a JPEG scan without byte stuffing: what the entropy decoder reads bits from.
//
// In the file, every FF of the data is followed by 00, and restart markers (FF D0 .. FF D7) part the data into segments
// that begin at a byte. Both are taken out ahead, so that the decoder's refill is a plain load.
//
// Ownership: the bytes are its own, grown to the largest scan; they end with kSlack zero bytes, so that a decoder which
//            looks now and then where it is may read past the end in between.
// Threads:   one at a time. Failure: none; what is odd about the bytes ends the data there, and the decoder then finds
//            too few bits or the wrong end marker.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "unstarve/core/aligned.h"

namespace unstarve {

class EntropyBytes {
 public:
  // The decoder goes up to 56 bytes beyond 8 behind the end (entropy_blocks.h) and reads 8 from there; and the writes
  // of a vector.
  static constexpr std::size_t kSlack = 128;

  // Takes the stuffing out of `scan`, up to its first marker; with `restarts`, restart markers in their right order
  // (the first is RSTn, n = first_restart modulo 8) begin a new segment instead of ending the data.
  void assign(std::span<const std::uint8_t> scan, bool restarts, std::size_t first_restart = 0);

  [[nodiscard]] const std::uint8_t* data() const { return bytes_.data(); }
  // Where each segment ends, as an offset in data(); at least one.
  [[nodiscard]] const std::vector<std::size_t>& segment_ends() const { return ends_; }
  // The marker behind the data (0xD9: end of image), or -1 when the file ends or is odd there.
  [[nodiscard]] int end_marker() const { return end_marker_; }

 private:
  AlignedBytes bytes_;
  std::vector<std::size_t> ends_;
  int end_marker_ = -1;
};

}  // namespace unstarve
