#pragma once
// The weights of a resize: `interpolation` and `antialias` of resize and random_resized_crop.
//
// A filter is a function of the distance from the centre of the output sample, in input samples. When reducing with
// antialias, it is stretched by the reduction factor, so that every input sample counts.
//
//   kNearest   the input sample that contains the centre                              Pillow's NEAREST
//   kBilinear  a triangle, 1 either side                                              BILINEAR
//   kBicubic   Keys' cubic, 2 either side, a = -0.5; without antialias a = -0.75, BICUBIC; torch's without antialias
//              and the outermost samples are repeated beyond the edges
//   kBox       1 for centres within half an output sample                             BOX
//   kArea      the part of each that the output sample covers                          OpenCV's INTER_AREA, reducing
//   kLanczos   sinc windowed by its main lobe, 3 either side                           LANCZOS
//
// Threads: pure.

#include "unstarve/core/image.h"

namespace unstarve {

class Parameters;

struct Resampling {
  enum class Kind { kNearest, kBilinear, kBicubic, kBox, kArea, kLanczos };
  Kind kind = Kind::kBilinear;
  bool antialias = true;  // false only for kBilinear and kBicubic
  friend bool operator==(const Resampling&, const Resampling&) = default;
};

struct ResizeTo {
  Size size;
  Resampling resampling;
};

// Reads `interpolation` (default bilinear) and `antialias` (default true) of an operation. As in torchvision, the
// latter affects only bilinear and bicubic. Throws Error(kArgument).
[[nodiscard]] Resampling read_resampling(const Parameters& parameters);

}  // namespace unstarve
