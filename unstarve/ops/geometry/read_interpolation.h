#pragma once
// Reads `interpolation` of operations that warp images. Private to ops.

#include <string_view>

#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/geometry/sampling.h"

namespace unstarve {

[[nodiscard]] inline Interpolation read_interpolation(const Parameters& parameters,
                                                      Interpolation fallback = Interpolation::kBilinear) {
  // In the order of Interpolation.
  return static_cast<Interpolation>(
      parameters.choice("interpolation", static_cast<std::size_t>(fallback), {"nearest", "bilinear"}));
}

}  // namespace unstarve
