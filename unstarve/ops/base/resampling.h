#pragma once
// By which weights an image is resized: `interpolation` and `antialias` of resize and random_resized_crop.
//
// A filter is a function of the distance from the output sample's centre, in input samples. Reducing, it is stretched
// by the reduction factor, so that every input sample counts (antialiasing); without antialias it is not.
//
//   kNearest   the input sample that the centre lies in                               Pillow's NEAREST
//   kBilinear  a triangle, 1 either side                                              BILINEAR
//   kBicubic   Keys' cubic, 2 either side, a = -0.5; without antialias a = -0.75, BICUBIC; torch's without antialias
//              and the outermost samples are repeated beyond the edges
//   kBox       1 for all whose middle lies within half an output sample                BOX
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
  bool antialias = true;  // false: of kBilinear and kBicubic alone
  friend bool operator==(const Resampling&, const Resampling&) = default;
};

struct ResizeTo {
  Size size;
  Resampling resampling;
};

// `interpolation` (bilinear unless given) and `antialias` (true) of an operation; as in torchvision, the latter says
// something of bilinear and bicubic alone. Throws Error(kArgument).
[[nodiscard]] Resampling read_resampling(const Parameters& parameters);

}  // namespace unstarve
