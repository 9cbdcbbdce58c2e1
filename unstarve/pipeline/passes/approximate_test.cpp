// The errors of approximate passes do not exceed their stated bounds.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "unstarve/codecs/decode_plan.h"
#include "unstarve/codecs/testing/test_photographs.h"
#include "unstarve/ops/store/store.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/storage/open.h"

namespace unstarve {
namespace {

TEST_CASE("normalise_on_device: values of any float32 normalisation are within the stated bound") {
  std::vector<std::uint8_t> pixels(256 * kChannels);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i / kChannels);
  std::vector<float> stored(pixels.size());
  Random random(1, 0, 0, 0);
  double most = 0;
  for (int round = 0; round < 2000; ++round) {
    Normalisation normalisation = kImagenetNormalisation;
    for (int c = 0; c < kChannels && round > 0; ++c) {
      normalisation.mean[c] = static_cast<float>(3 * random.uniform() - 1);
      normalisation.std[c] = static_cast<float>(std::exp(6 * random.uniform() - 4));
    }
    Storer({ElementType::kFloat32, Layout::kNhwc, normalisation})
        .store(Frame(PixelView{pixels.data(), 256, 1, 256 * kChannels}), stored.data());
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const float mean = normalisation.mean[i % kChannels], deviation = normalisation.std[i % kChannels];
      const auto pixel = static_cast<float>(pixels[i]);
      // volatile prevents the compiler from fusing them.
      volatile float product = pixel * (1 / (255 * deviation));
      const float sum = product + -mean / deviation;
      volatile float difference = pixel - 255 * mean, scale = 1 / (255 * deviation);
      const float scaled = difference * scale;
      const double larger =
          std::max(std::abs(pixel / 255.0 / deviation), std::abs(static_cast<double>(mean) / deviation));
      for (const float value : {sum, scaled})
        most = std::max(most, std::abs(static_cast<double>(value) - stored[i]) / larger);
    }
  }
  CHECK(most <= std::ldexp(1.0, -20));
  CHECK(most > 0);
}

TEST_CASE("scale_into_decode: the result shows less than one of its pixels more on each side") {
  Random random(2, 0, 0, 0);
  ImageHeader header;
  int reduced = 0;
  for (int round = 0; round < 20'000; ++round) {
    const auto below = [&](int n) { return static_cast<int>(random.below(static_cast<std::uint32_t>(n))); };
    header.size = {1 + below(4000), 1 + below(3000)};
    Rect crop{below(header.size.width), below(header.size.height), 0, 0};
    crop.width = 1 + below(header.size.width - crop.x);
    crop.height = 1 + below(header.size.height - crop.y);
    const Size target{1 + below(300), 1 + below(300)};
    const int reduction = choose_reduction(crop.size(), target);
    if (reduction == 1) continue;
    ++reduced;
    const Rect shown = stored_part(header, crop, reduction);
    const auto overhang = [&](int from, int length, int at, int extent, int result) {
      const double pixel = static_cast<double>(length) / result;
      CHECK(from - reduction * at >= 0);
      CHECK(from - reduction * at < pixel);
      CHECK(reduction * (at + extent) - (from + length) >= 0);
      CHECK(reduction * (at + extent) - (from + length) < pixel);
    };
    overhang(crop.x, crop.width, shown.x, shown.width, target.width);
    overhang(crop.y, crop.height, shown.y, shown.height, target.height);
  }
  CHECK(reduced > 3000);
}

// The mean difference of a pixel between photographs decoded at a reduced and at full scale and resized to `side`:
// over all photographs that differ, and of the one that differs most.
struct Differences {
  int images = 0;
  double mean = 0, worst = 0;
};

Differences differences(const std::filesystem::path& archive, double side) {
  PipelineSpec spec = small_spec(1, 2);
  spec.source.labels = "none";  // the photographs have none
  spec.order.shuffle = false;
  spec.operations = {{"random_resized_crop", {{"size", {side}}}}};
  spec.output = {ElementType::kUint8, Layout::kNhwc, {}};
  const auto dataset = open_dataset(archive.string());
  const auto exact = run(spec, dataset, {{}, 1});
  spec.passes["scale_into_decode"] = true;
  const auto reduced = run(spec, dataset, {{}, 1});
  Differences found;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (exact[i].pixels == reduced[i].pixels) continue;
    double sum = 0;
    for (std::size_t k = 0; k < exact[i].pixels.size(); ++k) sum += std::abs(exact[i].pixels[k] - reduced[i].pixels[k]);
    sum /= static_cast<double>(exact[i].pixels.size());
    ++found.images;
    found.mean += sum;
    found.worst = std::max(found.worst, sum);
  }
  if (found.images > 0) found.mean /= found.images;
  return found;
}

TEST_CASE("scale_into_decode: photographs differ from those of full scale by less than the stated bound") {
  const auto archive = testing::photographs();
  if (archive.empty()) return;
  for (const int side : {32, 64, 112}) {
    const Differences found = differences(archive, side);
    CAPTURE(side, found.images, found.mean, found.worst);
    CHECK(found.images > 40);
    CHECK(found.mean < 6);
    CHECK(found.worst < 20);
  }
}

}  // namespace
}  // namespace unstarve
