#include "unstarve/pipeline/executor/pad_batch.h"

#include <algorithm>
#include <cstring>

namespace unstarve {
namespace {

// Writes `count` copies of `pixel`, which has `bytes` bytes.
void fill_pixels(std::uint8_t* to, std::size_t count, const std::uint8_t* pixel, std::size_t bytes) {
  for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * bytes, pixel, bytes);
}

}  // namespace

FillPixel fill_pixel(const Storer& storer, int value) {
  Image image(Size{1, 1});
  std::fill_n(image.data(), kChannels, static_cast<std::uint8_t>(value));
  FillPixel pixel{};
  alignas(float) std::array<std::uint8_t, kChannels * sizeof(float)> stored{};
  storer.store(Frame(image.view()), stored.data());
  std::copy(stored.begin(), stored.end(), pixel.begin());
  return pixel;
}

Size largest_of(std::span<const PixelExtent> sizes) {
  Size largest;
  for (const auto& [height, width] : sizes) {
    largest.height = std::max(largest.height, height);
    largest.width = std::max(largest.width, width);
  }
  return largest;
}

void pad_samples(std::uint8_t* memory, std::size_t stride, std::span<const PixelExtent> sizes,
                 const PaddedFormat& format, std::uint8_t* scratch) {
  // A planar sample consists of three images with one element per pixel, an interleaved sample of one with three.
  const Size to = format.size;
  const bool planar = format.store.layout == Layout::kNchw;
  const std::size_t planes = planar ? kChannels : 1, element = element_bytes(format.store.type),
                    pixel_bytes = planar ? element : kChannels * element,
                    to_row = static_cast<std::size_t>(to.width) * pixel_bytes,
                    to_sample = planes * to_row * static_cast<std::size_t>(to.height);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::uint8_t* from = memory + i * stride;
    std::uint8_t* target = memory + i * to_sample;
    const auto height = static_cast<std::size_t>(sizes[i][0]), width = static_cast<std::size_t>(sizes[i][1]);
    if (sizes[i][0] == to.height && sizes[i][1] == to.width) {
      std::memmove(target, from, to_sample);
      continue;
    }
    const std::size_t row = width * pixel_bytes;
    std::memcpy(scratch, from, planes * height * row);
    from = scratch;
    for (std::size_t plane = 0; plane < planes; ++plane) {
      const std::uint8_t* const pixel = format.fill.data() + plane * pixel_bytes;
      for (std::size_t y = 0; y < height; ++y, from += row, target += to_row) {
        std::memcpy(target, from, row);
        fill_pixels(target + row, static_cast<std::size_t>(to.width) - width, pixel, pixel_bytes);
      }
      const std::size_t below = static_cast<std::size_t>(to.height) - height;
      fill_pixels(target, below * static_cast<std::size_t>(to.width), pixel, pixel_bytes);
      target += below * to_row;
    }
  }
}

}  // namespace unstarve
