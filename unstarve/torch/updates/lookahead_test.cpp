// Lookahead against a direct computation in double.

#include "unstarve/torch/updates/lookahead.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

#include <torch/types.h>
#include <torch/utils.h>

#include "unstarve/models/zoo.h"

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {
namespace {

constexpr int kUpdates = 23;
constexpr LookaheadSettings kEveryFifth{.every = 5, .decay = 0.7};

double share_after(int update) { return static_cast<double>(update) / kUpdates; }

// A change of the weights by an optimiser.
void change(const Network& network, int update) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(static_cast<std::uint64_t>(100 + update));
  for (const StateEntry& entry : network_state(network)) {
    if (entry.tensor.is_floating_point()) entry.tensor.detach().add_(0.1 * torch::randn_like(entry.tensor));
  }
}

// Copies of the weights that lookahead averages.
std::vector<torch::Tensor> copies(const Network& network, torch::Dtype type = torch::kFloat32) {
  std::vector<torch::Tensor> result;
  for (const StateEntry& entry : network_state(network)) {
    if (entry.tensor.is_floating_point()) result.push_back(entry.tensor.detach().clone().to(type));
  }
  return result;
}

NetworkPtr network_of_seed(std::uint64_t seed) {
  torch::manual_seed(seed);
  return find_model("cifar_net").make(4);
}

}  // namespace

TEST_CASE("the end of a run gives the network the slow weights") {
  const NetworkPtr network = network_of_seed(1);
  Lookahead lookahead(*network, kEveryFifth);
  const std::vector<torch::Tensor> slow = copies(*network);
  change(*network, 1);
  lookahead.update(share_after(1));
  lookahead.end();
  const std::vector<torch::Tensor> weights = copies(*network);
  for (std::size_t i = 0; i < slow.size(); ++i) CHECK(torch::equal(weights[i], slow[i]));
}

TEST_CASE("lookahead equals the direct computation, up to the end of the run") {
  const NetworkPtr network = network_of_seed(1);
  Lookahead lookahead(*network, kEveryFifth);
  std::vector<torch::Tensor> weights = copies(*network, torch::kFloat64), slow = weights;
  for (int update = 1; update <= kUpdates; ++update) {
    change(*network, update);
    lookahead.update(share_after(update));
    torch::manual_seed(static_cast<std::uint64_t>(100 + update));  // as in change()
    const double decay = 0.7 * std::pow(share_after(update), 3);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] = weights[i] + 0.1 * torch::randn(weights[i].sizes(), torch::kFloat32);
      if (update % 5 == 0) slow[i] = decay * slow[i] + (1 - decay) * weights[i];
      if (update % 5 == 0 || update == kUpdates) weights[i] = slow[i];
    }
    const std::vector<torch::Tensor> ours = copies(*network, torch::kFloat64);
    REQUIRE(ours.size() == weights.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      CAPTURE(update, i);
      CHECK(torch::allclose(ours[i], weights[i], 1e-4, 1e-5));
    }
  }
}

TEST_CASE("the last update of a run leaves the slow weights of the latest average") {
  const NetworkPtr network = network_of_seed(1);
  Lookahead lookahead(*network, kEveryFifth);
  std::vector<torch::Tensor> averaged;
  for (int update = 1; update <= kUpdates; ++update) {
    change(*network, update);
    lookahead.update(share_after(update));
    if (update == 20) averaged = copies(*network);
    if (update == 21) CHECK_FALSE(torch::equal(averaged[0], copies(*network)[0]));
  }
  const std::vector<torch::Tensor> last = copies(*network);
  for (std::size_t i = 0; i < last.size(); ++i) CHECK(torch::equal(last[i], averaged[i]));
}

TEST_CASE("lookahead continues from its state, and starts again from the weights after a reset") {
  const NetworkPtr network = network_of_seed(1), other = network_of_seed(2);
  Lookahead lookahead(*network, kEveryFifth);
  for (int update = 1; update <= 8; ++update) {
    change(*network, update);
    lookahead.update(share_after(update));
  }
  Lookahead next(*other, kEveryFifth);
  const auto copy = [](const std::vector<StateEntry>& from, const std::vector<StateEntry>& to) {
    REQUIRE(from.size() == to.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      CHECK(from[i].name == to[i].name);
      to[i].tensor.detach().copy_(from[i].tensor);
    }
  };
  copy(network_state(*network), network_state(*other));
  copy(lookahead.state(), next.state());
  next.restored();
  for (int update = 9; update <= kUpdates; ++update) {
    change(*network, update);
    lookahead.update(share_after(update));
    change(*other, update);
    next.update(share_after(update));
  }
  for (std::size_t i = 0; i < network_state(*network).size(); ++i)
    CHECK(torch::equal(network_state(*network)[i].tensor, network_state(*other)[i].tensor));

  change(*network, 1);
  const std::vector<torch::Tensor> before = copies(*network);
  lookahead.reset();
  lookahead.update(1);
  CHECK(torch::equal(copies(*network)[0], before[0]));
}

}  // namespace unstarve
