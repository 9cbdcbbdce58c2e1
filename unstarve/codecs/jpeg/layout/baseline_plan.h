#pragma once
// Which MCUs of a baseline image a crop needs, and what becomes of their samples: a pure function of the image's
// layout, the reduction and the crop.
//
//            0        first_column      end_column     columns
//   0        +---------------+-----------------+----------+
//            |  skipped: only entropy-decoded, nothing kept |
//   first_row+---------------+-----------------+----------+
//            |    skipped    |  kept: IDCT,    | skipped  |
//            |               |  colour, output |          |
//   end_row  +---------------+-----------------+----------+
//            |  not even read                               |
//
// Fancy upsampling mixes a chroma sample with its neighbours, so MCUs that hold only such a neighbour are kept too.
//
// A reduced image comes from smaller inverse transforms, as in libjpeg-turbo: 8 / reduction samples of a block's side.
// Chroma of 4:2:0 keeps twice as many, so that it needs no upsampling then; libjpeg-turbo does so only where both
// directions allow it. At 1/8 what upsampling is left repeats samples.
//
// Threads: plain data and pure functions.

#include "unstarve/codecs/jpeg/layout/baseline_image.h"
#include "unstarve/core/image.h"

namespace unstarve {

struct BaselinePlan {
  int block = 8;         // samples of a luma block's side
  int chroma_block = 8;  // the same of chroma
  int up_x = 1;          // pixels to a chroma sample: 1 or 2
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
// All of an image at full size.
[[nodiscard]] BaselinePlan plan_baseline(const BaselineLayout& image);

// Whether the chroma of such an image is upsampled as this says. Where it is one or two samples wide, libjpeg-turbo
// repeats them instead of smoothing, and such images are its.
[[nodiscard]] bool upsamples_alike(const BaselineLayout& image, int reduction);

}  // namespace unstarve
