#pragma once
// EXIF orientation: from the image as stored to the image as it should be looked at.
//
// The value (tag 0x0112 of EXIF 2.32, section 4.6.4) tells where the stored image's first row and first column belong:
//
//   1  top, left       3  bottom, right    5  left, top       7  right, bottom
//   2  top, right      4  bottom, left     6  right, top      8  left, bottom
//
// so 5..8 exchange the axes, and the stored x runs backwards in 2, 3, 7, 8, the stored y in 3, 4, 6, 7.
// Threads: pure functions. An orientation is 1..8; its reader turns everything else into 1.

#include "unstarve/core/image.h"

namespace unstarve {

[[nodiscard]] Size upright_size(Size stored, int orientation) noexcept;

// The part of the stored image (of size `stored`) that shows `upright`, a part of the upright image.
[[nodiscard]] Rect stored_rect(Rect upright, Size stored, int orientation) noexcept;

// Turns `stored`, a whole image or such a part, into `upright`, which is resized.
void turn_upright(const Image& stored, int orientation, Image& upright);

}  // namespace unstarve
