#pragma once
// For tests: a JPEG file whose header declares a huge size.

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace unstarve {

// A baseline JPEG whose frame header declares 60,000 x 60,000 pixels.
inline std::vector<std::uint8_t> jpeg_bomb(std::vector<std::uint8_t> jpeg) {
  constexpr std::array<std::uint8_t, 2> kFrame = {0xFF, 0xC0};
  const auto frame = std::search(jpeg.begin(), jpeg.end(), kFrame.begin(), kFrame.end());
  if (frame == jpeg.end()) throw std::invalid_argument("jpeg_bomb: a file without a baseline frame");
  // After the marker: two bytes of length, one of precision.
  for (const int side : {5, 7}) {
    frame[side] = 60'000 >> 8;
    frame[side + 1] = 60'000 & 255;
  }
  return jpeg;
}

}  // namespace unstarve
