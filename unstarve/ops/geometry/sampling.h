#pragma once
// Samples an image at fractional positions: the last stage of every rotation, shear and perspective.
//
// A position is in 1/65536 of a pixel; (0, 0) is the centre of the first pixel. If the nearest pixel is outside of the
// image, the result is `fill`, as in Pillow's transforms. Bilinear weights have 11 bits and their sum is rounded once;
// the outermost pixels are repeated beyond their centres.
//
// Integer arithmetic: every machine gives the same bits. Threads: pure.

#include <array>
#include <cstddef>
#include <cstdint>

#include "unstarve/core/image.h"

namespace unstarve {

inline constexpr int kPositionBits = 16;
// The largest side whose positions fit into 32 bits.
inline constexpr int kMaxSampledSide = 16'000;

enum class Interpolation { kNearest, kBilinear };

// Writes `count` interleaved pixels to `rgb`: `image` sampled at (x[i], y[i]). Its sides are 1 to kMaxSampledSide; the
// kernels read a few of the padding bytes after the last pixel of an Image.
void sample_positions(const Image& image, const std::int32_t* x, const std::int32_t* y, std::size_t count,
                      Interpolation interpolation, const std::array<std::uint8_t, kChannels>& fill, std::uint8_t* rgb);
// One pixel: the reference that the kernels are tested against.
[[nodiscard]] std::array<std::uint8_t, kChannels> sample_position(const Image& image, std::int32_t x, std::int32_t y,
                                                                  Interpolation interpolation,
                                                                  const std::array<std::uint8_t, kChannels>& fill);

}  // namespace unstarve
