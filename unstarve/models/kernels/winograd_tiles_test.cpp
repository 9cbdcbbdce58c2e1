// Transforms of one image compared with convolutions by their definition, in float64.

#include "unstarve/models/kernels/winograd_tiles.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include "unstarve/core/testing/simd_test_support.h"
#include "unstarve/models/testing/random_values.h"

namespace unstarve {
namespace {

using testing::random_values;
using Values = std::vector<float>;

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
  Values factors(kTilePlanes * grid.channels);
  kernels_to_planes({grid.channels, 1, grid.channels}, {0, 1}, kernels.data(), factors.data());
  for (std::size_t plane = 0; plane < kTilePlanes; ++plane) {
    for (std::size_t i = 0; i < grid.plane; ++i)
      tiles[plane * grid.plane + i] *= factors[plane * grid.channels + i % grid.channels];
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

TEST_CASE("transposed planes of kernels have the same values, and gradients the transposed transform") {
  testing::on_every_target([](const std::string& target) {
    CAPTURE(target);
    for (const KernelGrid grid : {KernelGrid{32, 16, 512}, KernelGrid{5, 3, 21}, KernelGrid{33, 47, 1551}}) {
      CAPTURE(grid.in, grid.out);
      const Values kernels = random_values(grid.out * 9 * grid.in, 6);
      Values planes(kTilePlanes * grid.plane), transposed(planes.size()), expected(planes.size());
      const ChannelRange first{0, grid.out / 2}, second{grid.out / 2, grid.out};
      for (const ChannelRange range : {first, second}) {
        kernels_to_planes(grid, range, kernels.data(), planes.data());
        kernels_to_transposed_planes(grid, range, kernels.data(), transposed.data());
      }
      for (std::size_t i = 0; i < planes.size(); ++i) {
        const std::size_t plane = i / grid.plane, at = i % grid.plane, out = at / grid.in, in = at % grid.in;
        if (at < grid.in * grid.out) expected[plane * grid.plane + in * grid.out + out] = planes[i];
      }
      CHECK(transposed == expected);
      const Values gradients = random_values(planes.size(), 7);
      Values back(kernels.size());
      for (const ChannelRange range : {first, second})
        planes_to_kernel_gradient(grid, range, gradients.data(), back.data());
      CHECK(dot(planes, gradients) == Approx(dot(kernels, back)).margin(1e-3));
    }
  });
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

TEST_CASE("images of bfloat16 are converted exactly, and results are rounded to nearest even") {
  testing::on_every_target([](const std::string& target) {
    CAPTURE(target);
    TileGrid grid = grid_of(9, 6, 41);
    const ChannelRange all{0, grid.channels};
    std::vector<std::uint16_t> halves(pixels(grid));
    Values image(halves.size());
    for (std::size_t i = 0; i < halves.size(); ++i) {
      halves[i] =
          static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(random_values(1, static_cast<unsigned>(i))[0]) >> 16);
      image[i] = std::bit_cast<float>(std::uint32_t{halves[i]} << 16);
    }
    Values tiles(kTilePlanes * grid.plane), gradients(tiles.size()), output(image.size());
    input_to_tiles(grid, all, image.data(), tiles.data());
    output_gradient_to_tiles(grid, all, image.data(), gradients.data());
    tiles_to_output(grid, all, tiles.data(), output.data());

    grid.bfloat16 = true;
    Values half_tiles(tiles.size()), half_gradients(tiles.size());
    std::vector<std::uint16_t> half_output(image.size());
    input_to_tiles(grid, all, halves.data(), half_tiles.data());
    output_gradient_to_tiles(grid, all, halves.data(), half_gradients.data());
    tiles_to_output(grid, all, tiles.data(), half_output.data());
    CHECK(half_tiles == tiles);
    CHECK(half_gradients == gradients);
    bool rounded = true;
    for (std::size_t i = 0; i < output.size(); ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(output[i]);
      rounded = rounded && half_output[i] == (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    }
    CHECK(rounded);
  });
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
