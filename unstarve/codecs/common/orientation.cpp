#include "unstarve/codecs/common/orientation.h"

#include <algorithm>
#include <utility>

namespace unstarve {
namespace {

// A tile's side in pixels: 32 rows of 96 bytes stay in the first-level cache while they are accessed by columns.
constexpr int kTile = 32;
// Rows per turn(). Each of their columns is a piece of an upright row; with shorter pieces, every page of the upright
// image is visited more often.
constexpr int kStrip = 64;

// Rows first .. first + count - 1 of a stored image, `stride` bytes apart.
struct StoredRows {
  const std::uint8_t* data;
  std::ptrdiff_t stride;
  int first, count;
};

// Copies rows of an image of size `stored` to their positions in `upright`.
void turn_rows(const StoredRows& rows, Size stored, int orientation, Image& upright) {
  if (stored.width == 0 || rows.count == 0) return;
  // Steps in the upright image, in bytes, for one pixel to the right and one row down in the stored image.
  std::ptrdiff_t step_x = kChannels;
  std::ptrdiff_t step_y = static_cast<std::ptrdiff_t>(upright.row_bytes());
  if (exchanges_axes(orientation)) std::swap(step_x, step_y);
  std::uint8_t* origin = upright.data();
  if (reverses_x(orientation)) {
    origin += step_x * (stored.width - 1);
    step_x = -step_x;
  }
  if (reverses_y(orientation)) {
    origin += step_y * (stored.height - 1);
    step_y = -step_y;
  }
  origin += step_y * rows.first;

  const auto copy_line = [](const std::uint8_t* from, std::ptrdiff_t from_step, std::uint8_t* to,
                            std::ptrdiff_t to_step, int pixels) {
    for (; pixels > 0; --pixels, from += from_step, to += to_step) {
      to[0] = from[0];
      to[1] = from[1];
      to[2] = from[2];
    }
  };
  for (int top = 0; top < rows.count; top += kTile) {
    const int height = std::min(kTile, rows.count - top);
    for (int left = 0; left < stored.width; left += kTile) {
      const int width = std::min(kTile, stored.width - left);
      const std::uint8_t* from = rows.data + top * rows.stride + std::ptrdiff_t{left} * kChannels;
      std::uint8_t* to = origin + top * step_y + left * step_x;
      // In the order of the upright image's rows.
      if (exchanges_axes(orientation)) {
        for (int x = 0; x < width; ++x) copy_line(from + x * kChannels, rows.stride, to + x * step_x, step_y, height);
      } else {
        for (int y = 0; y < height; ++y) copy_line(from + y * rows.stride, kChannels, to + y * step_y, step_x, width);
      }
    }
  }
}

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
  upright.resize(upright_size(stored.size(), orientation));
  const auto stride = static_cast<std::ptrdiff_t>(stored.row_bytes());
  turn_rows({stored.data(), stride, 0, stored.size().height}, stored.size(), orientation, upright);
}

void TurnedRows::begin(Size stored) {
  stored_ = stored;
  upright_.resize(upright_size(stored, orientation_));
  constexpr std::ptrdiff_t kSlack = 64;  // bytes that a decoder may write after a row
  stride_ = std::ptrdiff_t{stored.width} * kChannels + kSlack;
  turned_ = 0;
  held_ = 0;
}

std::uint8_t* TurnedRows::room(int count, std::ptrdiff_t& stride) {
  if (held_ + count > kStrip) turn();
  // Preserves the held rows: while there are any, the strip is large enough and does not grow.
  strip_.reserve_discard(static_cast<std::size_t>(std::max(kStrip, count) * stride_));
  stride = stride_;
  return strip_.data() + held_ * stride_;
}

void TurnedRows::take(int count) {
  held_ += count;
  if (turned_ + held_ == stored_.height) turn();
}

void TurnedRows::turn() {
  turn_rows({strip_.data(), stride_, turned_, held_}, stored_, orientation_, upright_);
  turned_ += held_;
  held_ = 0;
}

}  // namespace unstarve
