#include "unstarve/codecs/orientation.h"

#include <algorithm>
#include <utility>

namespace unstarve {
namespace {

bool exchanges_axes(int orientation) noexcept { return orientation >= 5; }
bool reverses_x(int o) noexcept { return o == 2 || o == 3 || o == 7 || o == 8; }
bool reverses_y(int o) noexcept { return o == 3 || o == 4 || o == 6 || o == 7; }

// Pixels of a tile's side: 32 source rows of 96 bytes stay in the first-level cache while they are read by columns.
constexpr int kTile = 32;

}  // namespace

Size upright_size(Size stored, int orientation) noexcept {
  if (exchanges_axes(orientation)) std::swap(stored.width, stored.height);
  return stored;
}

Rect stored_rect(Rect upright, Size stored, int orientation) noexcept {
  Rect rect = upright;
  if (exchanges_axes(orientation)) {
    std::swap(rect.x, rect.y);
    std::swap(rect.width, rect.height);
  }
  if (reverses_x(orientation)) rect.x = stored.width - rect.x - rect.width;
  if (reverses_y(orientation)) rect.y = stored.height - rect.y - rect.height;
  return rect;
}

void turn_upright(const Image& stored, int orientation, Image& upright) {
  ImageRows rows(upright);
  turn_upright(stored, orientation, rows);
}

void turn_upright(const Image& stored, int orientation, RowSink& upright) {
  const Size from = stored.size();
  const Size to = upright_size(from, orientation);
  upright.begin(to);
  if (to.width == 0 || to.height == 0) return;

  // The steps in the stored image, in bytes, of one pixel to the right and one row down in the upright one.
  const std::uint8_t* origin = stored.data();
  std::ptrdiff_t step_x = kChannels;
  std::ptrdiff_t step_y = static_cast<std::ptrdiff_t>(stored.row_bytes());
  if (reverses_x(orientation)) {
    origin += step_x * (from.width - 1);
    step_x = -step_x;
  }
  if (reverses_y(orientation)) {
    origin += step_y * (from.height - 1);
    step_y = -step_y;
  }
  if (exchanges_axes(orientation)) std::swap(step_x, step_y);

  for (int top = 0; top < to.height; top += kTile) {
    const int rows = std::min(kTile, to.height - top);
    std::ptrdiff_t stride = 0;
    std::uint8_t* const strip = upright.room(rows, stride);
    for (int left = 0; left < to.width; left += kTile) {
      const int right = std::min(left + kTile, to.width);
      for (int y = 0; y < rows; ++y) {
        const std::uint8_t* source = origin + (top + y) * step_y + left * step_x;
        std::uint8_t* target = strip + y * stride + left * kChannels;
        for (int x = left; x < right; ++x, source += step_x, target += kChannels) {
          target[0] = source[0];
          target[1] = source[1];
          target[2] = source[2];
        }
      }
    }
    upright.take(rows);
  }
}

void MirroredRows::begin(Size size) {
  width_ = size.width;
  upright_.begin(size);
}

std::uint8_t* MirroredRows::room(int count, std::ptrdiff_t& stride) {
  rows_ = upright_.room(count, stride);
  stride_ = stride;
  return rows_;
}

void MirroredRows::take(int count) {
  for (int y = 0; y < count; ++y) {
    std::uint8_t* left = rows_ + y * stride_;
    std::uint8_t* right = left + (width_ - 1) * kChannels;
    for (; left < right; left += kChannels, right -= kChannels) std::swap_ranges(left, left + kChannels, right);
  }
  upright_.take(count);
}

}  // namespace unstarve
