#pragma once
// Stores a batch's pixels in the output format, for the kernels; bit-equal to the host's Storer (store.h).
//
// value = pixel * scale + bias in float32, one fused multiply-add; rounded to 16 bits to nearest even. Threads: pure.

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "unstarve/ops/base/host_device.h"
#include "unstarve/ops/base/point_pixel.h"
#include "unstarve/ops/store/convert.h"
#include "unstarve/ops/store/element_bits.h"

namespace unstarve::gpu {

// The output of a batch: consecutive samples without gaps.
struct Output {
  void* pixels = nullptr;
  ElementType type = ElementType::kUint8;
  Layout layout = Layout::kNchw;
  Size size;
  std::array<float, kChannels> scale{1, 1, 1}, bias{};

  [[nodiscard]] constexpr UNSTARVE_HD std::int64_t sample_values() const {
    return std::int64_t{size.width} * size.height * kChannels;
  }
};

// Everything except pixels and size. Throws Error(kArgument) as Storer.
[[nodiscard]] inline Output make_output(const StoreFormat& format) {
  const auto map = make_map(format.normalisation);
  return {nullptr, format.type, format.layout, {}, map->scale, map->bias};
}

// Writes the pixel at (x, y) of sample `sample`.
UNSTARVE_HD inline void store_pixel(const Output& output, std::int64_t sample, int x, int y,
                                    const point::Pixel& pixel) {
  const std::int64_t plane = std::int64_t{output.size.width} * output.size.height;
  const std::int64_t index = std::int64_t{y} * output.size.width + x;
  const bool planar = output.layout == Layout::kNchw;
  const std::int64_t first = sample * output.sample_values() + (planar ? index : index * kChannels);
  for (std::size_t c = 0; c < kChannels; ++c) {
    const std::int64_t at = first + static_cast<std::int64_t>(c) * (planar ? plane : 1);
    if (output.type == ElementType::kUint8) {
      static_cast<std::uint8_t*>(output.pixels)[at] = pixel[c];
      continue;
    }
    const float value = fmaf(static_cast<float>(pixel[c]), output.scale[c], output.bias[c]);
    switch (output.type) {
      case ElementType::kFloat32: static_cast<float*>(output.pixels)[at] = value; break;
      case ElementType::kBfloat16: static_cast<std::uint16_t*>(output.pixels)[at] = bfloat16_bits(value); break;
      default: static_cast<std::uint16_t*>(output.pixels)[at] = float16_bits(value);
    }
  }
}

}  // namespace unstarve::gpu
