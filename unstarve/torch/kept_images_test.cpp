// Batches gathered from images on the device, compared with batches of the same pixels from the host.

#include "unstarve/torch/kept_images.h"

#include <catch2/catch.hpp>

#include <cstdint>
#include <vector>

#include <torch/types.h>

#include "unstarve/core/error.h"
#include "unstarve/core/random.h"
#include "unstarve/torch/staging.h"

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {
namespace {

constexpr Size kKeptSize{7, 5};
constexpr int kKeptCount = 6;
const Rgb kBorderColour{9, 8, 7};

// Images and numbers to gather by, which include those of the border.
struct Numbers {
  std::vector<std::uint8_t> pixels;
  std::vector<std::int64_t> labels;
  std::vector<std::int32_t> gather;

  Numbers(Size size, int samples) : labels(static_cast<std::size_t>(samples), 1) {
    Random random(4, 0, 0, 0);
    for (int i = 0; i < kKeptCount * kKeptSize.width * kKeptSize.height * kChannels; ++i)
      pixels.push_back(static_cast<std::uint8_t>(random.below(256)));
    const auto draw = [&](int count, int below) {
      for (int i = 0; i < count; ++i)
        gather.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(below))));
    };
    draw(samples, kKeptCount);
    draw(samples * size.height, kKeptSize.height + 1);
    draw(samples * size.width, kKeptSize.width + 1);
  }
  [[nodiscard]] HostBatch images(int first, int count) const {
    static const std::vector<std::int64_t> any(kKeptCount, 0);
    return {pixels.data() + static_cast<std::ptrdiff_t>(first) * kKeptSize.width * kKeptSize.height * kChannels,
            std::span(any).first(static_cast<std::size_t>(count)),
            kKeptSize,
            {ElementType::kUint8, Layout::kNhwc, kCifar10Normalisation}};
  }
  [[nodiscard]] HostBatch batch(Size size) const {
    HostBatch batch{nullptr, labels, size, {ElementType::kUint8, Layout::kNhwc, kCifar10Normalisation}};
    batch.gather = gather;
    return batch;
  }
  // By the definition of HostBatch::gather.
  [[nodiscard]] std::uint8_t expected(Size size, int sample, int x, int y, int c) const {
    const auto at = [&](int index) { return gather[static_cast<std::size_t>(index)]; };
    const int samples = static_cast<int>(labels.size());
    const int image = at(sample), row = at(samples + sample * size.height + y),
              column = at(samples * (1 + size.height) + sample * size.width + x);
    if (row == kKeptSize.height || column == kKeptSize.width) return kBorderColour[static_cast<std::size_t>(c)];
    return pixels[static_cast<std::size_t>(((image * kKeptSize.height + row) * kKeptSize.width + column) * kChannels +
                                           c)];
  }
};

}  // namespace

TEST_CASE("a batch is gathered by rows and columns, with a border of one colour") {
  for (const Size size : {Size{7, 5}, Size{4, 9}}) {
    const Numbers numbers(size, 150);
    Staging staging(torch::kCPU);
    staging.images().reserve(kKeptCount, kKeptSize, kBorderColour);
    staging.images().keep(0, numbers.images(0, 2));
    staging.images().keep(2, numbers.images(2, 4));
    staging.load(numbers.batch(size));
    const torch::Tensor pixels = staging.current().pixels;
    CHECK(pixels.sizes() == torch::IntArrayRef{150, kChannels, size.height, size.width});
    const auto found = pixels.accessor<std::uint8_t, 4>();
    bool equal = true;
    for (int n = 0; n < 150; ++n)
      for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width; ++x)
          for (int c = 0; c < kChannels; ++c) equal = equal && found[n][c][y][x] == numbers.expected(size, n, x, y, c);
    CHECK(equal);
    CHECK(staging.current().labels.numel() == 150);
  }
}

TEST_CASE("the kernel of GPUs and the loop of the host gather the same batch") {
  const Size size{5, 6};
  const Numbers numbers(size, 64);
  const torch::Tensor images =
      torch::randint(0, 256, {kKeptCount, kKeptSize.height + 1, kKeptSize.width + 1, kChannels}, torch::kUInt8);
  const torch::Tensor gather = torch::tensor(numbers.gather, torch::kInt32);
  torch::Tensor by_index = torch::empty({64, size.height, size.width, kChannels}, torch::kUInt8);
  torch::Tensor by_loop = torch::empty_like(by_index);
  const void* const memory = by_index.const_data_ptr();
  gather_by_index(images, gather, by_index);
  gather_by_loop(images, gather, by_loop);
  CHECK(torch::equal(by_index, by_loop));
  CHECK(by_index.const_data_ptr() == memory);
}

TEST_CASE("images and numbers that do not fit what was reserved are rejected") {
  const Numbers numbers(kKeptSize, 3);
  Staging staging(torch::kCPU);
  CHECK_THROWS_AS(staging.load(numbers.batch(kKeptSize)), Error);
  staging.images().reserve(kKeptCount, kKeptSize, kBorderColour);
  CHECK_THROWS_AS(staging.images().keep(3, numbers.images(0, 4)), Error);
  HostBatch other = numbers.images(0, 2);
  other.size = {5, 7};
  CHECK_THROWS_AS(staging.images().keep(0, other), Error);
  HostBatch floats = numbers.images(0, 2);
  floats.format.type = ElementType::kFloat32;
  CHECK_THROWS_AS(staging.images().keep(0, floats), Error);
  HostBatch few = numbers.batch(kKeptSize);
  few.gather = few.gather.first(few.gather.size() - 1);
  CHECK_THROWS_AS(staging.load(few), Error);
}

}  // namespace unstarve
