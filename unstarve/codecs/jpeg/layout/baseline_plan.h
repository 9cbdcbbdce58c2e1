#pragma once
// The MCUs of a baseline image that a crop needs, and the scaling of their samples: a pure function of the image's
// layout, the reduction and the crop.
//
//            0        first_column      end_column     columns
//   0        +---------------+-----------------+----------+
//            |  skipped: only entropy-decoded             |
//   first_row+---------------+-----------------+----------+
//            |    skipped    | decoded: IDCT,  | skipped  |
//            |               | colour, output  |          |
//   end_row  +---------------+-----------------+----------+
//            |  not read                                  |
//
// Fancy upsampling mixes a chroma sample with its neighbours, so MCUs that contain only such a neighbour are decoded
// too.
//
// Reduced images use smaller inverse transforms, as in libjpeg-turbo: 8 / reduction samples per block side. Chroma of
// 4:2:0 gets twice as many samples and then needs no upsampling; libjpeg-turbo does so only if both directions allow
// it. At 1/8, upsampling repeats samples.
//
// Threads: plain data and pure functions.

#include "unstarve/codecs/jpeg/layout/baseline_image.h"
#include "unstarve/core/image.h"

namespace unstarve {

struct BaselinePlan {
  int block = 8;         // side of a luma block in samples
  int chroma_block = 8;  // side of a chroma block
  int up_x = 1;          // pixels per chroma sample: 1 or 2
  int up_y = 1;
  bool smooth = true;  // fancy upsampling, or repeated samples
  int columns = 0;     // MCUs of the image
  int rows = 0;
  int first_column = 0;
  int end_column = 0;
  int first_row = 0;
  int end_row = 0;
};

// `reduction`: 1, 2, 4 or 8. `rect`: pixels of the reduced image, not empty, inside of it.
[[nodiscard]] BaselinePlan plan_baseline(const BaselineLayout& image, int reduction, const Rect& rect);
// The whole image at full size.
[[nodiscard]] BaselinePlan plan_baseline(const BaselineLayout& image);

// Whether libjpeg-turbo upsamples the chroma of such an image as plan_baseline() assumes. It does not smooth chroma one
// or two samples wide; our own decoder does not support such images.
[[nodiscard]] bool upsamples_alike(const BaselineLayout& image, int reduction);

}  // namespace unstarve
