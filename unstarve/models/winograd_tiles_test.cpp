// Transforms of one image compared with convolutions by their definition, in float64.

#include "unstarve/models/winograd_tiles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include "unstarve/core/testing/simd_test_support.h"

namespace unstarve {
namespace {

using Values = std::vector<float>;

Values random_values(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Values values(count);
  for (float& value : values) value = uniform(generator);
  return values;
}

TileGrid grid_of(std::size_t height, std::size_t width, std::size_t channels) {
  TileGrid grid{height, width, channels};
  grid.plane = (grid.tiles_per_image() + 1) * channels;  // a row that is not used
  return grid;
}

std::size_t pixels(const TileGrid& grid) { return grid.height * grid.width * grid.channels; }

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

// Every channel with its own kernel, so that the tiles are multiplied without sums over channels.
Values depthwise_by_tiles(const TileGrid& grid, const Values& image, const Values& kernels) {
  Values tiles(kTilePlanes * grid.plane), result(image.size());
  const ChannelRange all{0, grid.channels};
  input_to_tiles(grid, all, image.data(), tiles.data());
  const auto transform = kernel_transform();
  for (std::size_t plane = 0; plane < kTilePlanes; ++plane) {
    for (std::size_t i = 0; i < grid.plane; ++i) {
      float factor = 0;
      for (std::size_t k = 0; k < 9; ++k)
        factor += transform[plane][k] * kernels[k * grid.channels + i % grid.channels];
      tiles[plane * grid.plane + i] *= factor;
    }
  }
  tiles_to_output(grid, all, tiles.data(), result.data());
  return result;
}

double depthwise_at(const TileGrid& grid, const Values& image, const Values& kernels, std::size_t y, std::size_t x,
                    std::size_t c) {
  double sum = 0;
  for (std::size_t k = 0; k < 9; ++k) {
    const std::size_t from_y = y + k / 3, from_x = x + k % 3;  // shifted by the padding
    if (from_y < 1 || from_y > grid.height || from_x < 1 || from_x > grid.width) continue;
    sum += double{image[((from_y - 1) * grid.width + from_x - 1) * grid.channels + c]} *
           double{kernels[k * grid.channels + c]};
  }
  return sum;
}

void check_convolution(const TileGrid& grid) {
  CAPTURE(grid.height, grid.width, grid.channels);
  const Values image = random_values(pixels(grid), 1), kernels = random_values(9 * grid.channels, 2);
  const Values result = depthwise_by_tiles(grid, image, kernels);
  double largest = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t pixel = i / grid.channels;
    const double expected =
        depthwise_at(grid, image, kernels, pixel / grid.width, pixel % grid.width, i % grid.channels);
    largest = std::max(largest, std::abs(double{result[i]} - expected));
  }
  CHECK(largest < 1e-5);
}

// <transform(image), tiles> = <image, transposed(tiles)>
template <class ToTiles, class ToImage>
void check_transposed(const TileGrid& grid, const ToTiles& to_tiles, const ToImage& to_image) {
  CAPTURE(grid.height, grid.width, grid.channels);
  const ChannelRange all{0, grid.channels};
  const Values image = random_values(pixels(grid), 3);
  Values tiles = random_values(kTilePlanes * grid.plane, 4);
  for (std::size_t i = 0; i < tiles.size(); ++i)
    if (i % grid.plane >= grid.plane - grid.channels) tiles[i] = 0;  // the row that is not used
  Values transformed(tiles.size()), back(image.size(), 7);
  to_tiles(grid, all, image.data(), transformed.data());
  to_image(grid, all, tiles.data(), back.data());
  CHECK(dot(transformed, tiles) == Approx(dot(image, back)).margin(1e-3));
}

const std::vector<TileGrid>& grids() {
  static const std::vector<TileGrid> all{grid_of(8, 8, 16), grid_of(7, 7, 32),  grid_of(1, 1, 3),  grid_of(5, 9, 1),
                                         grid_of(4, 2, 7),  grid_of(13, 6, 40), grid_of(3, 21, 24)};
  return all;
}

}  // namespace

TEST_CASE("convolutions by tiles are those of the definition") {
  for (const TileGrid& grid : grids()) check_convolution(grid);
}

TEST_CASE("transforms of gradients are the transposed transforms") {
  for (const TileGrid& grid : grids()) {
    check_transposed(grid, input_to_tiles, tiles_to_input_gradient);
    check_transposed(grid, output_gradient_to_tiles, tiles_to_output);
  }
}

TEST_CASE("blocks of channels are independent") {
  const TileGrid grid = grid_of(6, 10, 40);
  const Values image = random_values(pixels(grid), 5);
  Values whole(kTilePlanes * grid.plane), parts(whole.size()), whole_back(image.size()), parts_back(image.size());
  input_to_tiles(grid, {0, 40}, image.data(), whole.data());
  tiles_to_input_gradient(grid, {0, 40}, whole.data(), whole_back.data());
  for (const ChannelRange range : {ChannelRange{0, 16}, ChannelRange{16, 32}, ChannelRange{32, 40}}) {
    input_to_tiles(grid, range, image.data(), parts.data());
    tiles_to_input_gradient(grid, range, whole.data(), parts_back.data());
  }
  CHECK(whole == parts);
  CHECK(whole_back == parts_back);
}

TEST_CASE("transforms are the same on every instruction set") {
  testing::on_every_target([](const std::string& target) {
    CAPTURE(target);
    const TileGrid grid = grid_of(9, 6, 41);
    check_convolution(grid);
    check_transposed(grid, input_to_tiles, tiles_to_input_gradient);
    check_transposed(grid, output_gradient_to_tiles, tiles_to_output);
  });
}

}  // namespace unstarve
