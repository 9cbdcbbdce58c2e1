#include "unstarve/ops/base/resampling.h"

#include "unstarve/ops/base/parameters.h"

namespace unstarve {

Resampling read_resampling(const Parameters& parameters) {
  using enum Resampling::Kind;
  // In the order of Resampling::Kind.
  const auto kind = static_cast<Resampling::Kind>(
      parameters.choice("interpolation", 1, {"nearest", "bilinear", "bicubic", "box", "area", "lanczos"}));
  const bool antialias = parameters.flag("antialias", true);
  return {kind, antialias || (kind != kBilinear && kind != kBicubic)};
}

}  // namespace unstarve
