#pragma once
// Samples an image at fractional positions: the last stage of every rotation, shear and perspective.
//
// A position is in 1/65536 of a pixel; (0, 0) is the centre of the first pixel. If the nearest pixel is outside of the
// image, the result is `fill`, as in Pillow's transforms. Bilinear weights have 11 bits and their sum is rounded once;
// the outermost pixels are repeated beyond their centres.
//
// Integer arithmetic: every machine gives the same bits. Threads: pure.

#include <cstddef>
#include <cstdint>

#include "unstarve/core/image.h"

namespace unstarve {

inline constexpr int kPositionBits = 16;
// The largest side whose positions fit into 32 bits.
inline constexpr int kMaxSampledSide = 16'000;

enum class Interpolation { kNearest, kBilinear };

// How a warp samples, and the colour of pixels from outside of the image.
struct Warping {
  Interpolation interpolation = Interpolation::kNearest;
  Rgb fill{};
};

// Up to kPositionsRun positions.
inline constexpr int kPositionsRun = 1024;
struct Positions {
  alignas(64) std::int32_t x[kPositionsRun];
  alignas(64) std::int32_t y[kPositionsRun];
};

// Writes `count` interleaved pixels to `rgb`: `image` sampled at the first positions. Its sides are 1 to
// kMaxSampledSide; the kernels read a few of the padding bytes after the last pixel of an Image.
void sample_positions(const Image& image, const Positions& at, std::size_t count, const Warping& warping,
                      std::uint8_t* rgb);
// One pixel: the reference that the kernels are tested against.
[[nodiscard]] Rgb sample_position(const Image& image, std::int32_t x, std::int32_t y, const Warping& warping);

}  // namespace unstarve
