#pragma once
// Which MCUs of a baseline image a crop needs: a pure function of the image's layout and the crop.
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
// Threads: plain data and pure functions.

#include "unstarve/codecs/jpeg/baseline_image.h"
#include "unstarve/core/image.h"

namespace unstarve {

struct BaselinePlan {
  int columns = 0;  // MCUs of the image
  int rows = 0;
  int first_column = 0;
  int end_column = 0;
  int first_row = 0;
  int end_row = 0;
};

// `rect`: not empty, inside of the image.
[[nodiscard]] BaselinePlan plan_baseline(const BaselineImage& image, const Rect& rect);

}  // namespace unstarve
