#pragma once
// For tests of operations: random pixels, windows and specs.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/core/random.h"
#include "unstarve/core/testing/simd_test_support.h"
#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/operations.h"

namespace unstarve::testing {

enum class Arrangement { kInterleaved, kPlanar, kStrided };

// Random pixels in exactly as many bytes as the view spans, so that a sanitizer detects any read beyond them.
struct Pixels {
  std::vector<std::uint8_t> bytes;
  PixelView view;

  Pixels(Size size, Arrangement arrangement, Random& random) {
    const std::ptrdiff_t gap = random.below(4);
    const std::ptrdiff_t pixel = arrangement == Arrangement::kInterleaved ? 3
                                 : arrangement == Arrangement::kPlanar    ? 1
                                                                          : 4;
    const std::ptrdiff_t row = size.width * pixel + gap;
    const std::ptrdiff_t channel = arrangement == Arrangement::kPlanar ? row * size.height : 1;
    const std::ptrdiff_t last = (size.height - 1) * row + (size.width - 1) * pixel + 2 * channel;
    bytes.resize(static_cast<std::size_t>(last) + 1);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.bits());
    // Extremes, which show rounding and saturation.
    if (random.below(4) == 0) {
      for (auto& byte : bytes) byte = byte < 128 ? 0 : 255;
    }
    view = {bytes.data(), size.width, size.height, row, pixel, channel};
  }
};

inline int between(Random& random, int low, int high) {
  return low + static_cast<int>(random.below(static_cast<std::uint32_t>(high - low + 1)));
}

// A window over `view`: inside, beyond any side, or (rarely) fully outside.
inline Frame random_window(const PixelView& view, Random& random) {
  Frame frame(view);
  frame.fill = {static_cast<std::uint8_t>(random.bits()), static_cast<std::uint8_t>(random.bits()),
                static_cast<std::uint8_t>(random.bits())};
  if (random.below(2) == 0) frame.mirror();
  const int width = between(random, 1, view.width), height = between(random, 1, view.height);
  switch (random.below(4)) {
    case 0: break;
    case 1:
    case 2:
      frame.crop({between(random, 0, view.width - width), between(random, 0, view.height - height), width, height});
      break;
    default:
      frame.crop({between(random, -width - 2, view.width + 2), between(random, -height - 2, view.height + 2),
                  width + between(random, 0, 9), height + between(random, 0, 9)});
  }
  return frame;
}

// A spec of the operation with its defaults, and 24 or an example for required parameters.
inline OpSpec defaults(std::string_view name) {
  OpSpec spec{std::string(name), {}};
  for (const ParameterInfo& parameter : parameters_of(name)) {
    if (!parameter.required) continue;
    const auto* const text = std::get_if<ParameterInfo::Text>(&parameter.kind);
    spec.params[parameter.name] = text != nullptr ? OpValue(text->example.c_str()) : OpValue{24};
  }
  return spec;
}

}  // namespace unstarve::testing
