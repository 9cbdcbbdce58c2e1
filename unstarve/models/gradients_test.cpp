// Gradients and modes of all networks, with a small batch of small images.

#include <cmath>

#include <torch/types.h>
#include <torch/utils.h>

#include "unstarve/models/layers.h"
#include "unstarve/models/zoo.h"

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {
namespace {

constexpr int kFewClasses = 5;
constexpr std::uint64_t kDropSeed = 9;  // of dropout and stochastic depth

struct SmallBatch {
  torch::Tensor images, labels;
};

SmallBatch small_batch(torch::Dtype type = torch::kFloat32) {
  torch::manual_seed(7);
  return {torch::randn({6, 3, 32, 32}, type), torch::randint(kFewClasses, {6}, torch::kInt64)};
}

// Narrow where possible, because only the structure matters.
NetworkPtr narrow_network(const ModelEntry& row) {
  torch::manual_seed(6);
  ModelEntry entry = row;
  if (entry.widths) entry.width = 0.25;
  NetworkPtr network = entry.make(kFewClasses);
  if (!network->prepared()) network->prepare(small_batch().images, nullptr);
  return network;
}

// Slow, and made of the layers of cifar_resnet18.
bool deep_resnet(const ModelEntry& entry) { return entry.name == "resnet34" || entry.name == "resnet50"; }

torch::Tensor seeded_forward(Network& network, const torch::Tensor& images, std::uint64_t seed = kDropSeed) {
  torch::manual_seed(seed);
  return network.forward(images.clone());
}

torch::Tensor seeded_loss(Network& network, const SmallBatch& batch) {
  return torch::cross_entropy_loss(seeded_forward(network, batch.images), batch.labels);
}

}  // namespace

TEST_CASE("every parameter of every network has a gradient in training") {
  for (const ModelInfo& info : kModelInfos) {
    const ModelEntry entry = find_model(info.name);
    const NetworkPtr network = narrow_network(entry);
    network->train();
    seeded_loss(*network, small_batch()).backward();
    for (const auto& item : network->named_parameters()) {
      CAPTURE(std::string(entry.name), item.key());
      REQUIRE(item.value().grad().defined());
      CHECK(item.value().grad().isfinite().all().item<bool>());
      CHECK(item.value().grad().abs().max().item<double>() > 0);
    }
  }
}

// Layers that overwrite their input must not change what another gradient needs.
TEST_CASE("gradients equal the differences of the loss in a random direction") {
  for (const ModelInfo& info : kModelInfos) {
    const ModelEntry entry = find_model(info.name);
    if (deep_resnet(entry)) continue;
    CAPTURE(std::string(entry.name));
    const NetworkPtr network = narrow_network(entry);
    network->to(torch::kFloat64);
    network->train();
    const SmallBatch batch = small_batch(torch::kFloat64);
    seeded_loss(*network, batch).backward();

    const torch::NoGradGuard no_grad;
    constexpr double kStep = 1e-9;  // small, because ReLU has no derivative at 0
    torch::manual_seed(8);
    double slope = 0;
    std::vector<torch::Tensor> directions;
    for (const torch::Tensor& parameter : network->parameters()) {
      directions.push_back(torch::randn_like(parameter) * (parameter.abs().mean() + 0.01));
      slope += (parameter.grad() * directions.back()).sum().item<double>();
    }
    const auto loss_at = [&](double distance) {
      const auto parameters = network->parameters();
      for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].add_(directions[i], distance);
      const double loss = seeded_loss(*network, batch).item<double>();
      for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].sub_(directions[i], distance);
      return loss;
    };
    CHECK((loss_at(kStep) - loss_at(-kStep)) / (2 * kStep) == Approx(slope).epsilon(2e-3));
  }
}

TEST_CASE("evaluation repeats, training repeats with the seed, and dropout makes other seeds differ") {
  const torch::NoGradGuard no_grad;
  for (const ModelInfo& info : kModelInfos) {
    const ModelEntry entry = find_model(info.name);
    if (deep_resnet(entry)) continue;
    CAPTURE(std::string(entry.name));
    const NetworkPtr network = narrow_network(entry);
    const SmallBatch batch = small_batch();
    network->eval();
    const torch::Tensor evaluated = seeded_forward(*network, batch.images, 1);
    CHECK(torch::equal(seeded_forward(*network, batch.images, 2), evaluated));
    network->train();
    const torch::Tensor trained = seeded_forward(*network, batch.images, 1);
    CHECK_FALSE(torch::allclose(trained, evaluated));
    CHECK(torch::equal(seeded_forward(*network, batch.images, 1), trained));
    const bool drops = entry.widths && entry.name != "mobilenet_v1" && entry.name != "cifar_resnet18";
    CHECK(torch::equal(seeded_forward(*network, batch.images, 2), trained) != drops);
  }
}

}  // namespace unstarve
