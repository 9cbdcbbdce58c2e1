#pragma once
// Pixels at places between pixels: what every operation that turns, shears or bends an image ends in.
//
// A place is in 1/65536 of a pixel; (0, 0) is the middle of the first pixel. Whoever's nearest pixel is none of the
// image's is `fill`, as in Pillow's transforms. Bilinear weights have 11 bits, their sum is rounded once; beyond the
// middles of the outermost pixels these are repeated.
//
// The arithmetic is of integers, so that every machine gives the same bits. Threads: pure.

#include <array>
#include <cstddef>
#include <cstdint>

#include "unstarve/core/image.h"

namespace unstarve {

inline constexpr int kPlaceBits = 16;
// Sides of images whose places fit into 32 bits.
inline constexpr int kMaxSampledSide = 16'000;

enum class Interpolation { kNearest, kBilinear };

// Writes `count` interleaved pixels to `rgb`: those of `image` at (x[i], y[i]). Its sides are 1 to kMaxSampledSide; the
// kernels read a few of the bytes that an Image has behind its last pixel.
void sample_places(const Image& image, const std::int32_t* x, const std::int32_t* y, std::size_t count,
                   Interpolation how, const std::array<std::uint8_t, kChannels>& fill, std::uint8_t* rgb);
// The pixel at one place: the definition that the kernels are tested against.
[[nodiscard]] std::array<std::uint8_t, kChannels> sample_place(const Image& image, std::int32_t x, std::int32_t y,
                                                               Interpolation how,
                                                               const std::array<std::uint8_t, kChannels>& fill);

}  // namespace unstarve
