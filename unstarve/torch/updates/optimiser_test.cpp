#include "unstarve/torch/updates/optimiser.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "unstarve/models/zoo.h"
#include "unstarve/torch/common/guards.h"
#include "unstarve/torch/updates/loss_scaler.h"
#include "unstarve/torch/updates/weight_average.h"

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {
namespace {

// A channels-last parameter, a vector, and one that never gets a gradient.
class Parameters final : public Network {
 public:
  Parameters() {
    torch::manual_seed(3);
    register_parameter("weight", torch::randn({8, 16, 3, 3}).contiguous(torch::MemoryFormat::ChannelsLast));
    register_parameter("bias", torch::randn({5}));
    register_parameter("unused", torch::randn({4}));
  }
  torch::Tensor forward(torch::Tensor x) override { return x; }
  [[nodiscard]] torch::Tensor at(std::size_t i) const { return parameters()[i]; }
};

void make_gradients(const Parameters& network, int step) {
  torch::manual_seed(static_cast<std::uint64_t>(100 + step));
  const torch::Tensor x = torch::randn({2, 16, 6, 6}).contiguous(torch::MemoryFormat::ChannelsLast);
  (torch::conv2d(x, network.at(0)).square().sum() + network.at(1).pow(3).sum()).backward();
}

double distance(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a - b).abs().max() / b.abs().max()).item<double>();
}

constexpr double kRate = 0.01;
constexpr int kSteps = 5;

Parameters trained(const OptimiserSettings& settings) {
  Parameters network;
  const auto optimiser = make_optimiser(network, settings);
  for (int step = 0; step < kSteps; ++step) {
    make_gradients(network, step);
    optimiser->step(kRate);
    optimiser->clear_gradients();
  }
  CHECK_FALSE(network.at(0).grad().defined());
  CHECK(torch::equal(network.at(2), Parameters().at(2)));
  return network;
}

// The same steps by an optimiser of PyTorch.
template <class Optimiser, class Options>
Parameters trained_by_torch(const Options& options) {
  Parameters network;
  Optimiser optimiser(network.parameters(), options);
  for (int step = 0; step < kSteps; ++step) {
    make_gradients(network, step);
    optimiser.step();
    optimiser.zero_grad();
  }
  return network;
}

// lars and lamb by their formulas, parameter by parameter, in double.
Parameters trained_by_formula(const OptimiserSettings& s) {
  Parameters network;
  std::vector<torch::Tensor> mean(2), square(2);
  const torch::NoGradGuard no_grad;
  for (int step = 0; step < kSteps; ++step) {
    {
      const torch::AutoGradMode with_grad(true);
      make_gradients(network, step);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      torch::Tensor parameter = network.at(i);
      const torch::Tensor w = parameter.to(torch::kFloat64);
      torch::Tensor g = parameter.grad().to(torch::kFloat64);
      const bool decayed = i == 0;
      const double decay = decayed ? s.weight_decay : 0;
      if (step == 0) mean[i] = torch::zeros_like(w), square[i] = torch::zeros_like(w);
      if (s.name == OptimiserName::kLars) {
        if (decayed) g = s.trust * w.norm() / (g.norm() + decay * w.norm()) * (g + decay * w);
        mean[i] = s.momentum * mean[i] + g;
        parameter.copy_(w - kRate * mean[i]);
      } else {
        mean[i] = s.beta1 * mean[i] + (1 - s.beta1) * g;
        square[i] = s.beta2 * square[i] + (1 - s.beta2) * g * g;
        const torch::Tensor m = mean[i] / (1 - std::pow(s.beta1, step + 1));
        const torch::Tensor v = square[i] / (1 - std::pow(s.beta2, step + 1));
        const torch::Tensor u = m / (v.sqrt() + s.epsilon) + decay * w;
        parameter.copy_(w - kRate * (decayed ? (w.norm() / u.norm()).item<double>() : 1.0) * u);
      }
      parameter.mutable_grad().reset();
    }
  }
  return network;
}

void check_equal(const Parameters& ours, const Parameters& reference, double tolerance) {
  for (std::size_t i = 0; i < 2; ++i) CHECK(distance(ours.at(i).detach(), reference.at(i).detach()) < tolerance);
}

}  // namespace

TEST_CASE("every form of sgd and adamw matches PyTorch") {
  for (const UpdateForm form : {UpdateForm::kEach, UpdateForm::kForeach, UpdateForm::kFused}) {
    CAPTURE(static_cast<int>(form));
    OptimiserSettings settings;
    settings.form = form;
    settings.decay_all = true;
    for (const bool nesterov : {true, false}) {
      settings.nesterov = nesterov;
      const auto options = torch::optim::SGDOptions(kRate).momentum(0.9).weight_decay(5e-4).nesterov(nesterov);
      check_equal(trained(settings), trained_by_torch<torch::optim::SGD>(options), 1e-6);
    }
    settings.momentum = 0;
    check_equal(trained(settings),
                trained_by_torch<torch::optim::SGD>(torch::optim::SGDOptions(kRate).weight_decay(5e-4)), 1e-6);
    settings.name = OptimiserName::kAdamw;
    settings.weight_decay = 0.1;
    const auto options = torch::optim::AdamWOptions(kRate).weight_decay(0.1);
    check_equal(trained(settings), trained_by_torch<torch::optim::AdamW>(options), 2e-6);
  }
}

TEST_CASE("a parameter that is a view of some columns is updated as any other, and the other columns are unchanged") {
  class Layer final : public Network {
   public:
    explicit Layer(const torch::Tensor& weight) { register_parameter("weight", weight); }
    torch::Tensor forward(torch::Tensor x) override { return torch::linear(x, parameters()[0]); }
  };
  OptimiserSettings settings;
  settings.name = GENERATE(OptimiserName::kSgd, OptimiserName::kAdamw);
  settings.form = GENERATE(UpdateForm::kEach, UpdateForm::kForeach, UpdateForm::kFused);
  const bool keeps_gradients = GENERATE(false, true);
  torch::manual_seed(3);
  const torch::Tensor whole = torch::randn({6, 20});
  const torch::Tensor before = whole.clone();
  Layer view(whole.narrow(1, 0, 8)), contiguous(whole.narrow(1, 0, 8).clone());
  for (Layer* layer : {&view, &contiguous}) {
    const auto optimiser = make_optimiser(*layer, settings);
    if (keeps_gradients) optimiser->keep_gradients();
    for (int step = 0; step < kSteps; ++step) {
      torch::manual_seed(static_cast<std::uint64_t>(step));
      layer->forward(torch::randn({4, 8})).square().sum().backward();
      optimiser->step(kRate);
      optimiser->clear_gradients();
    }
  }
  CHECK(torch::equal(view.parameters()[0], contiguous.parameters()[0]));
  CHECK(torch::equal(whole.narrow(1, 0, 8), contiguous.parameters()[0]));
  CHECK(torch::equal(whole.narrow(1, 8, 12), before.narrow(1, 8, 12)));
}

TEST_CASE("an update that reads its rate from a tensor has the bits of one with a number") {
  for (const OptimiserName name :
       {OptimiserName::kSgd, OptimiserName::kAdamw, OptimiserName::kLars, OptimiserName::kLamb}) {
    OptimiserSettings settings;
    settings.name = name;
    settings.form = has_fused_form(name) ? UpdateForm::kFused : UpdateForm::kForeach;
    const Parameters by_number, by_tensor;
    const auto first = make_optimiser(by_number, settings), second = make_optimiser(by_tensor, settings);
    CHECK_THROWS_AS(second->step_at_rate(), Error);
    for (int step = 0; step < kSteps; ++step) {
      const double rate = 0.1 / (3 + step);
      make_gradients(by_number, step);
      make_gradients(by_tensor, step);
      first->step(rate);
      second->set_rate(rate);
      second->step_at_rate();
      first->clear_gradients();
      second->clear_gradients();
    }
    for (std::size_t i = 0; i < 2; ++i) CHECK(torch::equal(by_number.at(i), by_tensor.at(i)));
  }
}

TEST_CASE("after an overflow, an update on the device changes nothing") {
  for (const OptimiserName name :
       {OptimiserName::kSgd, OptimiserName::kAdamw, OptimiserName::kLars, OptimiserName::kLamb}) {
    CAPTURE(word_of(name));
    OptimiserSettings settings;
    settings.name = name;
    settings.form = has_fused_form(name) ? UpdateForm::kFused : UpdateForm::kForeach;
    REQUIRE(updates_on_device(settings));
    const Parameters undisturbed, network;
    const auto expected = make_optimiser(undisturbed, settings), optimiser = make_optimiser(network, settings);
    const auto update = [](const Parameters& of, Optimiser& by, int step, double overflow) {
      make_gradients(of, step);
      if (overflow != 0) of.at(0).mutable_grad().fill_(std::numeric_limits<float>::quiet_NaN());
      by.step(kRate, torch::full({1}, overflow, torch::kFloat32));
      by.clear_gradients();
    };
    update(network, *optimiser, 9, 1);  // the first update
    for (std::size_t i = 0; i < 2; ++i) CHECK(torch::equal(network.at(i), undisturbed.at(i)));
    for (int step = 0; step < kSteps; ++step) {
      update(undisturbed, *expected, step, 0);
      update(network, *optimiser, step, 0);
      update(network, *optimiser, step, 1);
    }
    for (std::size_t i = 0; i < 2; ++i) CHECK(torch::equal(network.at(i), undisturbed.at(i)));
    const std::vector<StateEntry> found = optimiser->state(), state = expected->state();
    for (std::size_t i = 0; i < state.size(); ++i) CHECK(torch::equal(found[i].tensor, state[i].tensor));
    CHECK(optimiser->state()[0].tensor.item<double>() == kSteps);
  }
}

TEST_CASE("gradients that are kept stay in the same memory") {
  const Parameters network;
  OptimiserSettings settings;
  settings.form = UpdateForm::kFused;
  const auto optimiser = make_optimiser(network, settings);
  CHECK_FALSE(optimiser->has_gradients());
  optimiser->keep_gradients();
  CHECK(optimiser->has_gradients());
  const void* const address = network.at(0).grad().const_data_ptr();
  make_gradients(network, 0);
  CHECK(network.at(0).grad().const_data_ptr() == address);
  CHECK(network.at(0).grad().is_contiguous(torch::MemoryFormat::ChannelsLast));
  CHECK(network.at(0).grad().abs().max().item<double>() > 0);
  optimiser->clear_gradients();
  CHECK(network.at(0).grad().const_data_ptr() == address);
  CHECK(network.at(0).grad().abs().max().item<double>() == 0);
}

TEST_CASE("lars and lamb match their formulas") {
  for (const OptimiserName name : {OptimiserName::kLars, OptimiserName::kLamb}) {
    for (const UpdateForm form : {UpdateForm::kEach, UpdateForm::kForeach}) {
      CAPTURE(static_cast<int>(name), static_cast<int>(form));
      OptimiserSettings settings;
      settings.name = name;
      settings.form = form;
      settings.weight_decay = 0.01;
      check_equal(trained(settings), trained_by_formula(settings), 5e-6);
    }
  }
}

TEST_CASE("weight decay leaves out vectors unless requested") {
  OptimiserSettings settings;
  settings.weight_decay = 0.5;
  const Parameters some = trained(settings);
  settings.decay_all = true;
  const Parameters all = trained(settings);
  settings.weight_decay = 0;
  const Parameters none = trained(settings);
  CHECK(torch::equal(some.at(1), none.at(1)));
  CHECK(torch::equal(some.at(0), all.at(0)));
  CHECK_FALSE(torch::equal(some.at(0), none.at(0)));
  CHECK_FALSE(torch::equal(all.at(1), none.at(1)));
}

TEST_CASE("biases of batch norms have a multiple of the learning rate, and the decay of the other parameters") {
  const auto train = [](bool nesterov, UpdateForm form, double multiple) {
    const NetworkPtr network = [] {
      torch::manual_seed(5);
      return std::make_shared<ConvNorm>(ConvShape{.in = 3, .out = 8, .bias = true}, Activation::kRelu);
    }();
    OptimiserSettings settings;
    settings.nesterov = nesterov;
    settings.form = form;
    settings.weight_decay = 0.5;
    settings.decay_all = true;
    settings.norm_bias_rate = multiple;
    const auto ours = multiple > 0 ? make_optimiser(*network, settings) : nullptr;
    const auto named = network->named_parameters();
    const auto options = torch::optim::SGDOptions(kRate).momentum(0.9).weight_decay(0.5).nesterov(nesterov);
    torch::optim::SGD others({named["0.weight"], named["0.bias"], named["1.weight"]}, options);
    torch::optim::SGD biases({named["1.bias"]},
                             torch::optim::SGDOptions(options).lr(64 * kRate).weight_decay(0.5 / 64));
    network->train();
    for (int step = 0; step < kSteps; ++step) {
      torch::manual_seed(static_cast<std::uint64_t>(step));
      network->forward(torch::randn({4, 3, 8, 8})).square().mean().backward();
      if (ours) {
        ours->step(kRate);
        ours->clear_gradients();
      } else {
        others.step();
        biases.step();
        network->zero_grad();
      }
    }
    return network->parameters();
  };
  for (const bool nesterov : {true, false}) {
    const auto expected = train(nesterov, UpdateForm::kEach, 0);
    for (const UpdateForm form : {UpdateForm::kEach, UpdateForm::kForeach, UpdateForm::kFused}) {
      CAPTURE(nesterov, static_cast<int>(form));
      const auto parameters = train(nesterov, form, 64);
      REQUIRE(parameters.size() == expected.size());
      for (std::size_t i = 0; i < parameters.size(); ++i)
        CHECK(torch::allclose(parameters[i], expected[i], 1e-3, 1e-4));
      CHECK_FALSE(torch::allclose(train(nesterov, form, 1).back(), expected.back(), 1e-3, 1e-4));
    }
  }
}

TEST_CASE("zero weights or gradients have a ratio of 1 in lars and lamb") {
  for (const OptimiserName name : {OptimiserName::kLars, OptimiserName::kLamb}) {
    Parameters network;
    {
      const torch::NoGradGuard no_grad;
      for (torch::Tensor parameter : network.parameters()) parameter.zero_();
    }
    OptimiserSettings settings;
    settings.name = name;
    settings.form = UpdateForm::kForeach;
    const auto optimiser = make_optimiser(network, settings);
    network.at(0).mutable_grad() = torch::ones_like(network.at(0));
    network.at(1).mutable_grad() = torch::zeros_like(network.at(1));
    optimiser->step(kRate);
    CHECK(network.at(0).detach().max().item<double>() < 0);  // moved, and finite
    CHECK(network.at(0).isfinite().all().item<bool>());
    CHECK(network.at(1).detach().abs().max().item<double>() == 0);
  }
}

TEST_CASE("a step with overflowed gradients changes nothing and halves the scale") {
  for (const OptimiserName name : {OptimiserName::kSgd, OptimiserName::kAdamw}) {
    for (const UpdateForm form : {UpdateForm::kEach, UpdateForm::kFused}) {
      CAPTURE(static_cast<int>(name), static_cast<int>(form));
      const Parameters network;
      const auto before = network.at(0).detach().clone();
      OptimiserSettings settings;
      settings.name = name;
      settings.form = form;
      const auto optimiser = make_optimiser(network, settings);
      LossScaler scaler(torch::kCPU);
      make_gradients(network, 0);
      const auto good = network.at(0).grad().clone();
      network.at(0).mutable_grad().mul_(65536);
      network.at(1).mutable_grad().mul_(65536);

      torch::Tensor found = scaler.unscale(optimiser->gradients());
      CHECK(found.item<float>() == 0);
      CHECK(torch::equal(network.at(0).grad(), good));

      network.at(1).mutable_grad()[0] = std::numeric_limits<float>::infinity();
      found = scaler.unscale(optimiser->gradients());
      CHECK(found.item<float>() != 0);
      optimiser->step(0.1, found);
      scaler.update(found);
      CHECK(torch::equal(network.at(0).detach(), before));
      for (const StateEntry& entry : optimiser->state()) CHECK(entry.tensor.abs().sum().item<float>() == 0);
      CHECK(scaler.scale_tensor().item<float>() == 32768);
    }
  }
}

TEST_CASE("an optimiser continues from its state") {
  for (const OptimiserName name :
       {OptimiserName::kSgd, OptimiserName::kAdamw, OptimiserName::kLars, OptimiserName::kLamb}) {
    OptimiserSettings settings;
    settings.name = name;
    settings.form = UpdateForm::kForeach;
    Parameters network;
    auto optimiser = make_optimiser(network, settings);
    for (int step = 0; step < kSteps; ++step) {
      if (step == 2) {
        auto next = make_optimiser(network, settings);
        const auto from = optimiser->state(), to = next->state();
        REQUIRE(from.size() == to.size());
        for (std::size_t i = 0; i < to.size(); ++i) {
          CHECK(from[i].name == to[i].name);
          to[i].tensor.detach().copy_(from[i].tensor);
        }
        next->restored();
        optimiser = std::move(next);
      }
      make_gradients(network, step);
      optimiser->step(kRate);
      optimiser->clear_gradients();
    }
    CHECK(torch::equal(network.at(0), trained(settings).at(0)));
  }
}

TEST_CASE("clipped gradients equal those of torch's clip_grad_norm_") {
  for (const double limit : {0.5, 1e6}) {
    const Parameters ours, reference;
    make_gradients(ours, 0);
    make_gradients(reference, 0);
    clip_gradients({ours.at(0).grad(), ours.at(1).grad()}, limit);
    torch::nn::utils::clip_grad_norm_({reference.at(0), reference.at(1)}, limit);
    for (std::size_t i = 0; i < 2; ++i) CHECK(distance(ours.at(i).grad(), reference.at(i).grad()) < 1e-6);
  }
}

TEST_CASE("the average of the weights follows its formula, and swapping twice restores the weights") {
  const auto network = find_model("cifar_net").make(10);
  WeightAverage average(*network, 0.9);
  torch::Tensor weight = network->parameters()[0];
  torch::Tensor expected = weight.detach().to(torch::kFloat64).clone();
  for (int n = 0; n < 100; ++n) {
    const torch::NoGradGuard no_grad;
    weight.add_(0.01 * n);
    average.update();
    const double decay = std::min(0.9, (1.0 + n) / (10.0 + n));
    expected = decay * expected + (1 - decay) * weight;
  }
  const torch::Tensor before = weight.detach().clone();
  average.swap();
  CHECK(distance(weight.detach(), expected) < 1e-5);
  average.swap();
  CHECK(torch::equal(weight.detach(), before));
  CHECK(average.updates().item<double>() == 100);
}

}  // namespace unstarve
