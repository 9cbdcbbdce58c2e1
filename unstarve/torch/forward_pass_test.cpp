#include "unstarve/torch/forward_pass.h"

#include <catch2/catch.hpp>

#include <memory>

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {
namespace {

Placement placement_with(torch::ScalarType type, torch::MemoryFormat format) { return {torch::kCPU, type, format, 1}; }

struct SmallNetwork {
  NetworkPtr network = std::make_shared<Conv>(ConvShape{.in = 3, .out = 2});
  Staging::Current batch;

  SmallNetwork() {
    torch::manual_seed(4);
    batch.pixels = torch::randint(0, 256, {2, 3, 6, 6}, torch::kUInt8);
    batch.normalisation = kImagenetNormalisation;
  }
};

}  // namespace

TEST_CASE("uint8 pixels become normalised float32, float pixels keep their values") {
  SmallNetwork small;
  for (const auto format : {torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast}) {
    ForwardPass full(*small.network, placement_with(torch::kFloat32, format));
    ForwardPass half(*small.network, placement_with(torch::kBFloat16, format));
    const torch::Tensor images = full.images(small.batch);
    CHECK(images.scalar_type() == torch::kFloat32);
    CHECK(images.is_contiguous(format));
    CHECK(images.mean().item<float>() != small.batch.pixels.to(torch::kFloat32).mean().item<float>());

    Staging::Current floats = small.batch;
    floats.pixels = images.to(torch::kFloat16);
    CHECK(torch::equal(full.images(floats), floats.pixels.to(torch::kFloat32)));
    CHECK(half.images(floats).scalar_type() == torch::kFloat16);
    CHECK(half.images(floats).is_contiguous(format));
  }
}

TEST_CASE("logits are float32 in every precision, rounded where the network computes in bfloat16") {
  SmallNetwork small;
  ForwardPass full(*small.network, placement_with(torch::kFloat32, torch::MemoryFormat::Contiguous));
  ForwardPass half(*small.network, placement_with(torch::kBFloat16, torch::MemoryFormat::Contiguous));
  const torch::Tensor exact = full.logits(small.batch), rounded = half.logits(small.batch);
  CHECK(torch::equal(exact, small.network->forward(full.images(small.batch))));
  CHECK(rounded.scalar_type() == torch::kFloat32);
  CHECK(torch::equal(rounded, rounded.to(torch::kBFloat16).to(torch::kFloat32)));
  CHECK(torch::allclose(exact, rounded, 0.05, 0.05));
  CHECK_FALSE(torch::equal(exact, rounded));
}

TEST_CASE("logits of test-time augmentation are the means over the views") {
  SmallNetwork small;
  ForwardPass pass(*small.network, placement_with(torch::kFloat32, torch::MemoryFormat::Contiguous));
  Staging::Current mirrored = small.batch;
  mirrored.pixels = small.batch.pixels.flip({3});
  CHECK(torch::allclose(pass.logits(small.batch, TestAugmentation::kMirror),
                        0.5 * pass.logits(small.batch) + 0.5 * pass.logits(mirrored)));
}

}  // namespace unstarve
