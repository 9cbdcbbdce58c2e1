#include "unstarve/torch/foreign_network.h"

#include <catch2/catch.hpp>

#include <cmath>

#include <ATen/core/dispatch/Dispatcher.h>

#include "unstarve/core/error.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/models/weights.h"
#include "unstarve/torch/graphs/testing/host_recorder.h"
#include "unstarve/torch/torch_trainer.h"

namespace unstarve {
namespace {

// An operator of torch.ops.unstarve, called as from Python.
c10::Stack call(const std::string& name, c10::Stack arguments) {
  register_operators();
  c10::Dispatcher::singleton().findSchemaOrThrow(("unstarve::" + name).c_str(), "").callBoxed(arguments);
  return arguments;
}

// y = x weight, with the calls of a Python module.
struct Product {
  torch::Tensor weight = torch::ones({3, 2}).requires_grad_();
  torch::Tensor count = torch::zeros({}, torch::kInt64);
  std::int64_t number = call("new_network", {}).at(0).toInt();
  std::vector<bool> modes{};

  Product() {
    call("add_parameter", {number, "layer.0.weight", weight});
    call("add_buffer", {number, "layer.count", count});
  }
  ~Product() { call("drop_network", {number}); }

  ForeignNetwork calls() {
    return {"Product",
            number,
            [this] {
              call("output", {number, call("input", {number}).at(0).toTensor().matmul(weight)});
            },
            {},
            [this] { call("loss", {number}).at(0).toTensor().backward(); },
            [this](bool on) { modes.push_back(on); }};
  }
};

}  // namespace

TEST_CASE("a foreign network shares its tensors, which have the names of the module") {
  Product product;
  const NetworkPtr network = take_network(product.calls());
  const std::vector<StateEntry> state = network_state(*network);
  REQUIRE(state.size() == 2);
  CHECK(state[0].name == "layer.0.weight");
  CHECK(state[0].tensor.is_same(product.weight));
  CHECK(state[1].name == "layer.count");
  CHECK(state[1].tensor.is_same(product.count));
}

TEST_CASE("output and gradients are those of the calls") {
  Product product;
  const NetworkPtr network = take_network(product.calls());
  const torch::Tensor output = network->forward(torch::full({1, 3}, 2.0f));
  CHECK(torch::equal(output, torch::full({1, 2}, 6.0f)));
  network->backward(output.sum());
  CHECK(torch::equal(product.weight.grad(), torch::full({3, 2}, 2.0f)));
}

TEST_CASE("the loss of a foreign network is that of its call, or else the cross entropy") {
  Product product;
  const torch::Tensor logits = torch::tensor({{0.0f, 3.0f}}), labels = torch::tensor({1});
  const torch::Tensor cross_entropy = take_network(product.calls())->loss(logits, labels, 0.25);
  CHECK(cross_entropy.item<float>() == Approx(std::log1p(std::exp(-3.0)) + 0.25 / 2 * 3));

  ForeignNetwork calls = product.calls();
  calls.loss = [&] {
    const torch::Tensor columns = call("labels", {product.number}).at(0).toTensor();
    call("output",
         {product.number, -call("input", {product.number}).at(0).toTensor().gather(1, columns.view({1, 1})).mean()});
  };
  CHECK(take_network(calls)->loss(logits, labels, 0).item<float>() == -3);
}

TEST_CASE("the mode of a foreign network is set when it changes") {
  Product product;
  const NetworkPtr network = take_network(product.calls());
  for (const bool on : {true, true, false, false, true}) network->train(on);
  CHECK(product.modes == std::vector<bool>{true, false, true});
  CHECK(network->is_training());
}

TEST_CASE("steps of a foreign network are recorded only with graph: on") {
  const std::vector<float> pixels{1, 2, 3, -1, 0, 2};
  const std::vector<std::int64_t> labels{0, 1};
  // The six values are two images of 1 x 1.
  const HostBatch batch{
      reinterpret_cast<const std::uint8_t*>(pixels.data()), labels, {1, 1}, {ElementType::kFloat32, Layout::kNhwc, {}}};
  const auto train = [&](GraphUse use, testing::HostRecorderCounts& counts) {
    Product product;
    ForeignNetwork calls = product.calls();
    calls.forward = [&product] {
      const torch::Tensor images = call("input", {product.number}).at(0).toTensor();
      call("output", {product.number, images.flatten(1).matmul(product.weight)});
    };
    TrainSettings settings;
    settings.classes = 2;
    settings.optimiser.form = UpdateForm::kFused;
    settings.operator_threads = 1;
    settings.graph = use;
    const auto trainer = make_recorded_trainer(settings, std::make_unique<testing::HostRecorder>(counts), &calls);
    std::vector<double> losses;
    for (int step = 0; step < 8; ++step) {
      trainer->load(batch);
      trainer->step(0.1 / (1 + step));
      losses.push_back(trainer->loss());
    }
    return std::pair(losses, trainer->notice());
  };
  testing::HostRecorderCounts plain, recorded;
  const auto [expected, notice] = train(GraphUse::kAuto, plain);
  CHECK(plain.records == 0);
  CHECK_THAT(notice, Catch::Contains("Python module") && Catch::Contains("graph: on"));
  const auto [losses, none] = train(GraphUse::kOn, recorded);
  CHECK(losses == expected);
  CHECK(losses.back() < losses.front());
  CHECK(recorded.replays == 5);
  CHECK(none.empty());
}

TEST_CASE("a call without output and an unknown network are errors") {
  Product product;
  ForeignNetwork calls = product.calls();
  calls.forward = calls.loss = [] {};
  const NetworkPtr network = take_network(calls);
  const auto forward = [&] { (void)network->forward(torch::ones({1, 3})); };
  CHECK_THAT(testing::error_message(forward, ErrorKind::kArgument),
             Catch::Contains("Product: forward stored no output"));
  const auto loss = [&] { (void)network->loss(torch::ones({1, 2}), torch::zeros({1}, torch::kInt64), 0); };
  CHECK_THAT(testing::error_message(loss, ErrorKind::kArgument), Catch::Contains("Product: loss stored no output"));
  CHECK_THROWS_AS(call("input", {std::int64_t{1} << 40}), c10::Error);
}

}  // namespace unstarve
