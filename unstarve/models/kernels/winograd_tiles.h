#pragma once
// The tile transforms of 3 x 3 convolutions by Winograd's algorithm F(4 x 4, 3 x 3), which needs a quarter of the
// multiplications (Lavin and Gray, 2015). Images are float32 or bfloat16 in channels-last format, with padding 1 and
// stride 1; tiles are float32:
//
//   tiles of the output = A' ((G w G') * (B' d B)) A      d: 6 x 6 pixels of the input; the result: 4 x 4 pixels
//
// where * multiplies the 36 values of a tile by those of the kernel and sums over channels: 36 matrix products, which
// the caller computes. The gradients use the transposed transforms. The interpolation points are 0, +-1/sqrt(2),
// +-sqrt(2) and infinity, which round better than the standard 0, +-1, +-2.
//
// Threads: calls for different images or different channels can run concurrently. Does not need libtorch.

#include <cstddef>

namespace unstarve {

inline constexpr std::size_t kTileSide = 4;     // pixels of the output
inline constexpr std::size_t kTilePlanes = 36;  // values of a transformed tile

// The tiles of some images of one size, in 36 planes; a plane has one row of `channels` values per tile. Pixels beyond
// the border are 0.
struct TileGrid {
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t channels = 0;
  std::size_t plane = 0;  // values of a plane
  bool bfloat16 = false;  // type of the image

  [[nodiscard]] std::size_t rows() const { return (height + kTileSide - 1) / kTileSide; }
  [[nodiscard]] std::size_t columns() const { return (width + kTileSide - 1) / kTileSide; }
  [[nodiscard]] std::size_t tiles_per_image() const { return rows() * columns(); }
};

struct ChannelRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// One image. `image`: its first pixel; `tiles`: the row of its first tile in the first plane.
void input_to_tiles(const TileGrid& grid, ChannelRange channels, const void* image, float* tiles);
void tiles_to_output(const TileGrid& grid, ChannelRange channels, const float* tiles, void* image);
// Gradients: the transposed transforms of tiles_to_output() and input_to_tiles(). The second overwrites the image, and
// is for float32 only: the gradients of overlapping tiles are added.
void output_gradient_to_tiles(const TileGrid& grid, ChannelRange channels, const void* image, float* tiles);
void tiles_to_input_gradient(const TileGrid& grid, ChannelRange channels, const float* tiles, float* image);

// Kernels in channels-last format (out x 3 x 3 x in), transformed to 36 planes, for some of the outputs.
struct KernelGrid {
  std::size_t in = 0;
  std::size_t out = 0;
  std::size_t plane = 0;  // distance of planes, in values
};
// To planes of out x in and of in x out.
void kernels_to_planes(const KernelGrid& grid, ChannelRange outputs, const float* kernels, float* planes);
void kernels_to_transposed_planes(const KernelGrid& grid, ChannelRange outputs, const float* kernels, float* planes);
// The transposed transform of kernels_to_planes().
void planes_to_kernel_gradient(const KernelGrid& grid, ChannelRange outputs, const float* planes, float* kernels);

}  // namespace unstarve
