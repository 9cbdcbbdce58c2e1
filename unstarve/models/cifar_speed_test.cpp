// The network of airbench94 against its definition, and its whitening layer.

#include <catch2/catch.hpp>

#include <cmath>
#include <string>
#include <utility>

#include <torch/types.h>
#include <torch/utils.h>

#include "unstarve/models/networks.h"
#include "unstarve/models/weights.h"
#include "unstarve/models/whitening.h"

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {
namespace {

constexpr std::int64_t kValues = 12;  // of a patch

// Images whose neighbouring pixels and channels are correlated, as those of photographs.
torch::Tensor smooth_images(int count, std::uint64_t seed = 5) {
  torch::manual_seed(seed);
  const torch::Tensor noise = torch::randn({count, 3, 34, 34});
  return torch::avg_pool2d(noise, {3, 3}, {1, 1}) + 0.3 * noise.mean(1, true).narrow(2, 1, 32).narrow(3, 1, 32);
}

torch::Tensor filters_of(const Network& network) { return network.named_buffers()["whitening.weight"]; }

// The second moments of the outputs of the first 12 filters.
torch::Tensor output_moments(const torch::Tensor& images, const torch::Tensor& filters) {
  const torch::Tensor outputs = torch::conv2d(images, filters).to(torch::kFloat64).permute({1, 0, 2, 3}).flatten(1);
  return outputs.mm(outputs.t()).narrow(0, 0, kValues).narrow(1, 0, kValues) / outputs.size(1);
}

double largest_difference(const torch::Tensor& a, const torch::Tensor& b) { return (a - b).abs().max().item<double>(); }

// The forward pass in training by torch's operations, from the layers of the published program.
torch::Tensor published_forward(const Network& network, torch::Tensor x) {
  const auto parameters = network.named_parameters();
  const auto norm = [&](const torch::Tensor& y, const std::string& name) {
    return torch::batch_norm(y, {}, parameters[name + ".bias"], {}, {}, /*training=*/true, 0.4, 1e-12, false);
  };
  const auto conv = [&](const torch::Tensor& y, const std::string& name) {
    return torch::conv2d(y, parameters[name + ".weight"], {}, {1, 1}, {1, 1});
  };
  x = torch::gelu(torch::conv2d(x, filters_of(network), parameters["whitening.bias"]));
  for (const std::string group : {"groups.0.", "groups.1.", "groups.2."}) {
    x = torch::max_pool2d(conv(x, group + "conv1"), {2, 2});
    x = torch::gelu(norm(x, group + "norm1"));
    x = torch::gelu(norm(conv(x, group + "conv2"), group + "norm2"));
  }
  return torch::linear(torch::max_pool2d(x, {3, 3}).flatten(1), parameters["fc.weight"]) / 9;
}

}  // namespace

TEST_CASE("the whitening layer decorrelates patches, with both signs of every filter") {
  const NetworkPtr network = make_cifar_speed(10);
  const torch::Tensor images = smooth_images(64);
  CHECK_FALSE(network->prepared());
  network->prepare(images, nullptr);
  CHECK(network->prepared());
  const torch::Tensor filters = filters_of(*network);
  CHECK(torch::equal(filters.narrow(0, 0, kValues), -filters.narrow(0, kValues, kValues)));

  const torch::Tensor moments = output_moments(images, filters);
  CHECK(largest_difference(moments, torch::diag(moments.diagonal())) < 1e-5);
  // An output has the variance eigenvalue / (eigenvalue + 5e-4): below 1, and falling with the eigenvalue.
  const torch::Tensor variances = moments.diagonal();
  CHECK(variances.max().item<double>() < 1);
  CHECK(variances[0].item<double>() > 0.99);
  CHECK((variances.narrow(0, 0, kValues - 1) - variances.narrow(0, 1, kValues - 1)).min().item<double>() > -1e-6);
  const torch::Tensor eigenvalues = 5e-4 * variances / (1 - variances);
  const torch::Tensor lengths = filters.narrow(0, 0, kValues).flatten(1).to(torch::kFloat64).square().sum(1);
  CHECK(torch::allclose(lengths, 1 / (eigenvalues + 5e-4), 1e-2, 0));
}

TEST_CASE("the filters are the same for the same images, and those of all images with several ranks") {
  const torch::Tensor images = smooth_images(200);
  const auto filters = [](const torch::Tensor& of, const SumOverRanks* sum) {
    const NetworkPtr network = make_cifar_speed(10);
    network->prepare(of, sum);
    return filters_of(*network).clone();
  };
  const torch::Tensor all = filters(images, nullptr);
  CHECK(torch::equal(filters(images, nullptr), all));
  CHECK_FALSE(torch::allclose(filters(smooth_images(200, 6), nullptr), all));

  torch::Tensor of_first;
  const SumOverRanks keep = [&](torch::Tensor& sums) { of_first = sums.clone(); };
  const torch::Tensor first = filters(images.narrow(0, 0, 80), &keep);
  CHECK_FALSE(torch::allclose(first, all, 1e-3));
  const SumOverRanks add = [&](torch::Tensor& sums) { sums.add_(of_first); };
  CHECK(torch::allclose(filters(images.narrow(0, 80, 120), &add), all, 1e-3, 1e-4));
}

TEST_CASE("the layers are those of the published program") {
  torch::manual_seed(3);
  const NetworkPtr network = make_cifar_speed(10);
  const torch::Tensor images = smooth_images(8);
  network->prepare(images, nullptr);
  {
    const torch::NoGradGuard no_grad;
    for (torch::Tensor parameter : network->parameters()) {
      if (parameter.dim() == 1) parameter.normal_(0, 0.2);
    }
  }
  network->train();
  for (const auto format : {torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast}) {
    const torch::Tensor expected = published_forward(*network, images);
    const torch::Tensor logits = network->forward(images.contiguous(format));
    CHECK(largest_difference(logits, expected) < 1e-4 * expected.abs().max().item<double>());
  }
}

TEST_CASE("convolutions start with copies of their input channels, batch norms train only their bias") {
  torch::manual_seed(4);
  const NetworkPtr network = make_cifar_speed(10);
  const torch::Tensor weight = network->named_parameters()["groups.0.conv1.weight"].detach();
  const torch::Tensor images = torch::randn({2, 24, 6, 6});
  const torch::Tensor outputs = torch::conv2d(images, weight, {}, {1, 1}, {1, 1});
  CHECK(torch::equal(outputs.narrow(1, 0, 24), images));
  const double bound = 1 / std::sqrt(24.0 * 9);
  const torch::Tensor others = weight.narrow(0, 24, 40);
  CHECK(others.abs().max().item<double>() <= bound);
  CHECK(others.abs().max().item<double>() > 0.99 * bound);
  CHECK(others.std().item<double>() == Approx(bound / std::sqrt(3.0)).epsilon(0.03));

  for (const auto& item : network->named_parameters()) CHECK_FALSE(item.key().ends_with("norm1.weight"));
  CHECK(network->named_buffers().contains("groups.2.norm2.weight"));
  CHECK(count_parameters(*network) == 1'971'352);
  CHECK(count_macs(*network, 32) == 118'147'360);
}

TEST_CASE("the state of the network contains the filters") {
  const NetworkPtr from = make_cifar_speed(10), to = make_cifar_speed(10);
  from->prepare(smooth_images(16), nullptr);
  const auto states = std::pair(network_state(*from), network_state(*to));
  REQUIRE(states.first.size() == states.second.size());
  {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < states.first.size(); ++i) {
      CHECK(states.first[i].name == states.second[i].name);
      states.second[i].tensor.detach().copy_(states.first[i].tensor);
    }
  }
  CHECK(to->prepared());
  CHECK(torch::equal(filters_of(*to), filters_of(*from)));
}

}  // namespace unstarve
