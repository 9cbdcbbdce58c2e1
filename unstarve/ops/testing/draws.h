#pragma once
// For tests of random numbers: an image that every operation changes, the result of a sample, and frequencies.

#include <cmath>
#include <cstdint>
#include <string>

#include "unstarve/ops/base/window.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/test_support.h"

namespace unstarve::testing {

// Random pixels without the smallest and largest values, so that every operation changes something.
inline Pixels noise(Size size) {
  Random random(1, 0, 0, 0);
  Pixels pixels(size, Arrangement::kInterleaved, random);
  for (auto& byte : pixels.bytes) byte = static_cast<std::uint8_t>(40 + random.below(170));
  return pixels;
}

inline std::string shown(const Frame& frame) {
  std::string bytes(static_cast<std::size_t>(frame.width) * static_cast<std::size_t>(frame.height) * kChannels, 0);
  copy_window(frame, 0, frame.height,
              {reinterpret_cast<std::uint8_t*>(bytes.data()), std::ptrdiff_t{frame.width} * kChannels, 1});
  return bytes;
}

inline std::string made_of(const Operation& operation, const PixelView& view, std::uint64_t sample, Scratch& scratch) {
  Frame frame(view);
  Random random(11, 2, sample, 3);
  frame.crop(operation.select(frame.size(), random));
  operation.apply(frame, random, scratch);
  return shown(frame);
}

// Whether the count of draws of this probability is within five standard deviations; exact for 0 and 1.
inline bool as_often(std::size_t times, std::size_t draws, double probability) {
  const auto n = static_cast<double>(draws);
  return std::abs(static_cast<double>(times) - n * probability) <= 5 * std::sqrt(n * probability * (1 - probability));
}

}  // namespace unstarve::testing
