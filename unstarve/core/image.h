#pragma once
// Pixels in memory: a borrowed view of 8-bit RGB in any stride, and an image that owns its pixels.
//
// Everything here is upright RGB; codecs convert greyscale and CMYK and apply the EXIF orientation.
// Ownership: PixelView borrows. Image owns its memory and never shrinks, so that a worker's scratch image stops
// allocating after its largest sample.

#include <array>
#include <cstddef>
#include <cstdint>

#include "unstarve/core/memory/aligned.h"
#include "unstarve/core/size.h"

namespace unstarve {

using Rgb = std::array<std::uint8_t, kChannels>;

// The value of channel c at (x, y) is data[y * row_stride + x * pixel_stride + c * channel_stride].
// Interleaved: pixel_stride 3, channel_stride 1. Planar: pixel_stride 1, channel_stride >= width * height.
struct PixelView {
  const std::uint8_t* data = nullptr;
  int width = 0;
  int height = 0;
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t pixel_stride = kChannels;
  std::ptrdiff_t channel_stride = 1;

  [[nodiscard]] Size size() const { return {width, height}; }
  [[nodiscard]] bool interleaved() const { return pixel_stride == kChannels && channel_stride == 1; }
  [[nodiscard]] bool planar() const { return pixel_stride == 1; }
  [[nodiscard]] std::uint8_t at(int x, int y, int c) const {
    return data[y * row_stride + x * pixel_stride + c * channel_stride];
  }
};

// Interleaved RGB rows without gaps, 64-byte aligned, with at least 64 readable bytes after the last pixel, so that
// vector code may load past the end.
class Image {
 public:
  Image() = default;
  explicit Image(Size size) { resize(size); }

  // Reuses the memory if it is large enough. The pixels are undefined afterwards.
  void resize(Size size) {
    size_ = size;
    memory_.reserve_discard(bytes() + 64);
  }

  [[nodiscard]] Size size() const { return size_; }
  [[nodiscard]] std::size_t row_bytes() const { return static_cast<std::size_t>(size_.width) * kChannels; }
  [[nodiscard]] std::size_t bytes() const { return row_bytes() * static_cast<std::size_t>(size_.height); }
  [[nodiscard]] std::uint8_t* data() { return memory_.data(); }
  [[nodiscard]] const std::uint8_t* data() const { return memory_.data(); }
  [[nodiscard]] std::uint8_t* row(int y) { return data() + static_cast<std::size_t>(y) * row_bytes(); }
  [[nodiscard]] const std::uint8_t* row(int y) const { return data() + static_cast<std::size_t>(y) * row_bytes(); }
  [[nodiscard]] PixelView view() const {
    return {data(), size_.width, size_.height, static_cast<std::ptrdiff_t>(row_bytes()), kChannels, 1};
  }

 private:
  Size size_;
  AlignedBytes memory_;
};

}  // namespace unstarve
