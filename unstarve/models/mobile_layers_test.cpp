#include "unstarve/models/mobile_layers.h"

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {

TEST_CASE("scaled channels are multiples of 8, at least 8 and at least 90 % of the product") {
  CHECK(scaled_channels(32, 1) == 32);
  CHECK(scaled_channels(32, 0.5) == 16);
  CHECK(scaled_channels(32, 0.35) == 16);  // 11.2: 8 would be less than 90 %
  CHECK(scaled_channels(24, 0.75) == 24);  // 18: 16 would be less than 90 %
  CHECK(scaled_channels(16, 0.1) == 8);
  CHECK(scaled_channels(1280, 1.4) == 1792);
}

TEST_CASE("stochastic depth replaces samples by zeros in training and keeps their mean") {
  torch::manual_seed(3);
  constexpr double kDropped = 0.25;
  constexpr std::int64_t kSamples = 4000;
  StochasticDepth layer(kDropped);
  const torch::Tensor x = torch::ones({kSamples, 2, 3, 1});
  layer.eval();
  CHECK(torch::equal(layer.forward(x), x));

  layer.train();
  const torch::Tensor y = layer.forward(x).flatten(1);
  const torch::Tensor first = y.narrow(1, 0, 1);
  CHECK(torch::equal(y, first.expand_as(y)));  // a sample is kept as a whole
  const auto kept = first.gt(0).sum().item<std::int64_t>();
  CHECK(torch::allclose(first.masked_select(first.gt(0)), torch::full({kept}, 1 / (1 - kDropped))));
  CHECK(static_cast<double>(kept) / kSamples == Approx(1 - kDropped).margin(0.03));

  torch::manual_seed(4);
  const torch::Tensor again = layer.forward(x);
  torch::manual_seed(4);
  CHECK(torch::equal(layer.forward(x), again));
}

TEST_CASE("squeeze-and-excitation multiplies channels by their gates and leaves the input unchanged") {
  torch::manual_seed(5);
  const auto form = GENERATE(SqueezeExcitation::Form::kHard, SqueezeExcitation::Form::kSmooth);
  SqueezeExcitation layer(16, 8, form);
  const torch::Tensor x = torch::randn({3, 16, 5, 4});
  const torch::Tensor before = x.clone();
  const torch::Tensor y = layer.forward(x);
  CHECK(torch::equal(x, before));
  const torch::Tensor factors = y / x;
  CHECK(factors.min().item<double>() >= 0);
  CHECK(factors.max().item<double>() <= 1 + 1e-6);
  CHECK(torch::allclose(factors, factors.mean({2, 3}, true).expand_as(factors), 1e-4, 1e-5));
}

}  // namespace unstarve
