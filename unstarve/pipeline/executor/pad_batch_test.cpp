#include "unstarve/pipeline/executor/pad_batch.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "unstarve/core/random.h"

namespace unstarve {
namespace {

Image noise(Size size, Random& random) {
  Image image(size);
  for (std::size_t i = 0; i < image.bytes(); ++i) image.data()[i] = static_cast<std::uint8_t>(random.below(256));
  return image;
}

TEST_CASE("padding equals storing a larger window, in every type and layout") {
  Random random(1, 0, 0, 0);
  constexpr int kValue = 114;
  const std::vector<PixelExtent> sizes = {{5, 7}, {1, 1}, {9, 3}, {9, 7}, {2, 7}};
  CHECK(largest_of(sizes) == Size{7, 9});
  for (const ElementType type :
       {ElementType::kUint8, ElementType::kFloat32, ElementType::kBfloat16, ElementType::kFloat16})
    for (const Layout layout : {Layout::kNchw, Layout::kNhwc})
      for (const Size to : {Size{7, 9}, Size{12, 10}}) {
        const StoreFormat format{type, layout, kImagenetNormalisation};
        const Storer storer(format);
        const std::size_t stride = storer.sample_bytes({12, 10}), padded = storer.sample_bytes(to);
        std::vector<float> memory((sizes.size() + 1) * stride / sizeof(float) + 1), expected(memory.size());
        auto* const bytes = reinterpret_cast<std::uint8_t*>(memory.data());
        auto* const expected_bytes = reinterpret_cast<std::uint8_t*>(expected.data());
        for (std::size_t i = 0; i < sizes.size(); ++i) {
          const Image image = noise({sizes[i][1], sizes[i][0]}, random);
          Frame frame(image.view());
          storer.store(frame, bytes + i * stride);
          frame.crop({0, 0, to.width, to.height});
          frame.fill.fill(kValue);
          storer.store(frame, expected_bytes + i * padded);
        }
        pad_samples(bytes, stride, sizes, {to, format, fill_pixel(storer, kValue)}, bytes + sizes.size() * stride);
        CHECK(std::memcmp(bytes, expected_bytes, sizes.size() * padded) == 0);
      }
}

}  // namespace
}  // namespace unstarve
