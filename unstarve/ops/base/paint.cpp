#include "unstarve/ops/base/paint.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "unstarve/ops/base/noise_pixel.h"
#include "unstarve/ops/base/recorder.h"
#include "unstarve/ops/base/window.h"

namespace unstarve {
namespace {

constexpr const char* kRandomWord = "random";

// From one number or three; from none (the parameter is a word), black.
Rgb colour_of(const std::vector<int>& numbers) {
  Rgb colour{};
  for (std::size_t c = 0; c < kChannels && !numbers.empty(); ++c)
    colour[c] = static_cast<std::uint8_t>(numbers[c % numbers.size()]);
  return colour;
}

}  // namespace

Rgb read_fill(const Parameters& parameters) {
  return colour_of(parameters.integers("fill", {{0}, 0, 255, {1, kChannels}, {kMeanWord}}).numbers);
}

Paint read_paint(const Parameters& parameters) {
  const IntegersOrWord value = parameters.integers("value", {{}, 0, 255, {1, kChannels}, {kMeanWord, kRandomWord}});
  return {colour_of(value.numbers), value.word == kRandomWord};
}

void cover(Frame& frame, Rect rect, const Paint& paint, Random& random, Scratch& scratch) {
  std::uint64_t key = 0;
  if (paint.noise) {
    key = std::uint64_t{random.bits()} << 32;
    key |= random.bits() | 1U;  // 0 means no noise to a recorder
  }
  if (Recorder* recorder = scratch.recorder()) return recorder->cover(frame, rect, paint.colour, key);
  Image& image = make_pixels(frame, scratch);
  const auto row = [&](int y) { return image.row(rect.y + y) + std::ptrdiff_t{rect.x} * kChannels; };
  for (int y = 0; y < rect.height; ++y) {
    std::uint8_t* to = row(y);
    if (y > 0 && !paint.noise) {
      std::memcpy(to, row(0), static_cast<std::size_t>(rect.width) * kChannels);
      continue;
    }
    for (int x = 0; x < rect.width; ++x, to += kChannels) {
      const Rgb pixel = paint.noise
                            ? noise_pixel(key, static_cast<std::uint64_t>(y) * static_cast<std::uint64_t>(rect.width) +
                                                   static_cast<std::uint64_t>(x))
                            : paint.colour;
      std::copy(pixel.begin(), pixel.end(), to);
    }
  }
}

}  // namespace unstarve
