#pragma once
// EXIF orientation: turns the stored image into the upright one.
//
// The value (tag 0x0112 of EXIF 2.32, section 4.6.4) is the position of the stored image's first row and first column:
//
//   1  top, left       3  bottom, right    5  left, top       7  right, bottom
//   2  top, right      4  bottom, left     6  right, top      8  left, bottom
//
// Hence 5..8 exchange the axes; the stored x is reversed in 2, 3, 7, 8, the stored y in 3, 4, 6, 7.
// Threads: pure functions; a TurnedRows is used by one thread at a time.
// Precondition: an orientation is 1..8 (readers replace other values by 1).

#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/common/row_sink.h"
#include "unstarve/core/image.h"
#include "unstarve/core/memory/aligned.h"

namespace unstarve {

[[nodiscard]] constexpr bool exchanges_axes(int orientation) noexcept { return orientation >= 5; }
// Whether the stored image's x (y) is reversed.
[[nodiscard]] constexpr bool reverses_x(int o) noexcept { return o == 2 || o == 3 || o == 7 || o == 8; }
[[nodiscard]] constexpr bool reverses_y(int o) noexcept { return o == 3 || o == 4 || o == 6 || o == 7; }

[[nodiscard]] Size upright_size(Size stored, int orientation) noexcept;

// The part of the stored image (of size `stored`) that corresponds to `upright`, a part of the upright image.
[[nodiscard]] Rect stored_rect(Rect upright, Size stored, int orientation) noexcept;

// Turns `stored`, a whole image or a part from stored_rect(), into `upright`, which is resized.
void turn_upright(const Image& stored, int orientation, Image& upright);

// Turns stored rows as they arrive. `strip`: memory for a few tens of rows, reused from image to image.
class TurnedRows final : public RowSink {
 public:
  TurnedRows(int orientation, AlignedBytes& strip, Image& upright)
      : orientation_(orientation), strip_(strip), upright_(upright) {}

  void begin(Size stored) override;
  std::uint8_t* room(int count, std::ptrdiff_t& stride) override;
  void take(int count) override;

 private:
  void turn();

  const int orientation_;
  AlignedBytes& strip_;
  Image& upright_;
  Size stored_;
  std::ptrdiff_t stride_ = 0;
  int turned_ = 0;  // rows of the image that have been turned
  int held_ = 0;    // the following rows, in the strip
};

}  // namespace unstarve
