#pragma once
// EXIF orientation: from the image as stored to the image as it should be looked at.
//
// The value (tag 0x0112 of EXIF 2.32, section 4.6.4) tells where the stored image's first row and first column belong:
//
//   1  top, left       3  bottom, right    5  left, top       7  right, bottom
//   2  top, right      4  bottom, left     6  right, top      8  left, bottom
//
// so 5..8 exchange the axes, and the stored x runs backwards in 2, 3, 7, 8, the stored y in 3, 4, 6, 7.
// Threads: functions without state, rows one at a time. An orientation is 1..8; readers turn all else into 1.

#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/row_sink.h"
#include "unstarve/core/image.h"

namespace unstarve {

[[nodiscard]] Size upright_size(Size stored, int orientation) noexcept;

// The part of the stored image (of size `stored`) that shows `upright`, a part of the upright image.
[[nodiscard]] Rect stored_rect(Rect upright, Size stored, int orientation) noexcept;

// Turns `stored`, a whole image or such a part, into `upright`, which is resized.
void turn_upright(const Image& stored, int orientation, Image& upright);
// The same as rows, in strips of some tens.
void turn_upright(const Image& stored, int orientation, RowSink& upright);

// Rows of orientation 2 (the stored x runs backwards, and nothing else) on to where upright ones are wanted.
class MirroredRows final : public RowSink {
 public:
  explicit MirroredRows(RowSink& upright) : upright_(upright) {}

  void begin(Size size) override;
  std::uint8_t* room(int count, std::ptrdiff_t& stride) override;
  void take(int count) override;

 private:
  RowSink& upright_;
  int width_ = 0;
  std::uint8_t* rows_ = nullptr;  // of the last room()
  std::ptrdiff_t stride_ = 0;
};

}  // namespace unstarve
