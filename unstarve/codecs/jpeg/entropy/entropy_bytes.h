#pragma once
// The bytes of a JPEG scan without byte stuffing: the input of the entropy decoder.
//
// In the file, 00 follows every FF of the data, and restart markers (FF D0 .. FF D7) divide the data into segments that
// start at a byte. Both are removed before decoding, so that the decoder's refill is a plain load.
//
// Ownership: owns the bytes, grown to the largest scan. kSlack zero bytes follow them, so that the decoder may read
//            past the end between two checks of its position.
// Threads:   one at a time. Failure: none; irregular bytes end the data, and the decoder then finds too few bits or the
//            wrong end marker.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "unstarve/core/memory/aligned.h"

namespace unstarve {

class EntropyBytes {
 public:
  // The decoder advances up to 56 bytes past its limit, 8 bytes after the end (entropy_blocks.h), and reads 8 bytes
  // from there. Also covers the writes of a vector.
  static constexpr std::size_t kSlack = 128;

  // Copies `scan` without stuffing, up to its first marker. With `restarts`, restart markers in the correct order (the
  // first is RSTn, n = first_restart modulo 8) start a new segment instead of ending the data.
  void assign(std::span<const std::uint8_t> scan, bool restarts, std::size_t first_restart = 0);

  [[nodiscard]] const std::uint8_t* data() const { return bytes_.data(); }
  // The end of each segment as an offset in data(); at least one.
  [[nodiscard]] const std::vector<std::size_t>& segment_ends() const { return ends_; }
  // The marker after the data (0xD9: end of image), or -1 if there is none.
  [[nodiscard]] int end_marker() const { return end_marker_; }

 private:
  AlignedBytes bytes_;
  std::vector<std::size_t> ends_;
  int end_marker_ = -1;
};

}  // namespace unstarve
