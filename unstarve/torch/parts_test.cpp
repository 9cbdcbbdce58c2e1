// Parts of a step on the host: optimiser, loss scaling, normalisation, autocast, errors.

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include <ATen/cpu/Utils.h>
#include <torch/torch.h>

#include "unstarve/torch/guards.h"
#include "unstarve/torch/loss_scaler.h"
#include "unstarve/torch/normalise.h"
#include "unstarve/torch/sgd.h"
#include "unstarve/torch/torch_device.h"
#include "unstarve/torch/torch_trainer.h"
#include "unstarve/train/cpu_precision.h"

namespace unstarve {
namespace {

// A channels-last parameter, a flat one, and one that never gets a gradient.
std::vector<torch::Tensor> make_parameters() {
  torch::manual_seed(3);
  std::vector<torch::Tensor> parameters{torch::randn({8, 16, 3, 3}).contiguous(torch::MemoryFormat::ChannelsLast),
                                        torch::randn({5}), torch::randn({4})};
  for (torch::Tensor& p : parameters) p.requires_grad_(true);
  return parameters;
}

void make_gradients(const std::vector<torch::Tensor>& parameters, int step) {
  torch::manual_seed(static_cast<std::uint64_t>(100 + step));
  const torch::Tensor x = torch::randn({2, 16, 6, 6}).contiguous(torch::MemoryFormat::ChannelsLast);
  (torch::conv2d(x, parameters[0]).square().sum() + parameters[1].pow(3).sum()).backward();
}

double distance(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a - b).abs().max() / b.abs().max()).item<double>();
}

}  // namespace

TEST_CASE("both forms of the optimiser match torch's SGD") {
  const double rate = 0.01;
  for (const bool fused : {false, true}) {
    CAPTURE(fused);
    const auto ours = make_parameters();
    const auto reference = make_parameters();
    Sgd sgd(ours, {.momentum = 0.9, .weight_decay = 5e-4, .fused = fused});
    torch::optim::SGD torch_sgd(reference,
                                torch::optim::SGDOptions(rate).momentum(0.9).weight_decay(5e-4).nesterov(true));
    for (int step = 0; step < 5; ++step) {
      make_gradients(ours, step);
      make_gradients(reference, step);
      sgd.step(rate);
      torch_sgd.step();
      sgd.clear_gradients();
      torch_sgd.zero_grad();
    }
    for (std::size_t i = 0; i < ours.size(); ++i) CHECK(distance(ours[i].detach(), reference[i].detach()) < 1e-6);
    CHECK(torch::equal(ours[2], make_parameters()[2]));
    CHECK_FALSE(ours[0].grad().defined());
  }
}

TEST_CASE("a step with overflowed gradients changes nothing and halves the scale") {
  for (const bool fused : {false, true}) {
    CAPTURE(fused);
    const auto parameters = make_parameters();
    const auto before = parameters[0].detach().clone();
    Sgd sgd(parameters, {.fused = fused});
    LossScaler scaler(torch::kCPU);
    make_gradients(parameters, 0);
    const auto good = parameters[0].grad().clone();
    parameters[0].mutable_grad().mul_(65536);
    parameters[1].mutable_grad().mul_(65536);

    torch::Tensor found = scaler.unscale(sgd.gradients());
    CHECK(found.item<float>() == 0);
    CHECK(torch::equal(parameters[0].grad(), good));

    parameters[1].mutable_grad()[0] = std::numeric_limits<float>::infinity();
    found = scaler.unscale(sgd.gradients());
    CHECK(found.item<float>() != 0);
    sgd.step(0.1, found);
    scaler.update(found);
    CHECK(torch::equal(parameters[0].detach(), before));
    CHECK(sgd.momentum()[0].abs().sum().item<float>() == 0);
    CHECK(scaler.scale_tensor().item<float>() == 32768);
  }
}

TEST_CASE("normalised pixels are (pixel / 255 - mean) / std in every layout") {
  torch::manual_seed(1);
  const torch::Tensor pixels = torch::randint(0, 256, {2, 3, 5, 7}, torch::kUInt8);
  const Normalisation& n = kImagenetNormalisation;
  const torch::Tensor mean = torch::tensor({n.mean[0], n.mean[1], n.mean[2]}).view({1, 3, 1, 1});
  const torch::Tensor deviation = torch::tensor({n.std[0], n.std[1], n.std[2]}).view({1, 3, 1, 1});
  const torch::Tensor expected = (pixels / 255.0 - mean) / deviation;
  Normaliser normaliser;
  for (const auto in : {torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast}) {
    for (const auto out : {torch::MemoryFormat::Contiguous, torch::MemoryFormat::ChannelsLast}) {
      const torch::Tensor result = normaliser(pixels.contiguous(in), n, out);
      CHECK(result.is_contiguous(out));
      CHECK((result - expected).abs().max().item<float>() < 2e-6F);
    }
  }
}

TEST_CASE("autocast ends with its scope and clears cast weights") {
  torch::Tensor weight = torch::randn({4, 4}).requires_grad_(true);
  const torch::Tensor x = torch::randn({2, 4});
  const auto forward = [&] {
    const AutocastScope autocast(torch::kCPU, torch::kBFloat16);
    return torch::linear(x, weight);
  };
  const torch::Tensor first = forward();
  CHECK(first.scalar_type() == torch::kBFloat16);
  CHECK_FALSE(at::autocast::is_autocast_enabled(torch::kCPU));
  {
    const torch::NoGradGuard no_grad;
    weight.mul_(2);
  }
  CHECK(torch::allclose(forward().to(torch::kFloat32), 2 * first.to(torch::kFloat32), 0.02, 0.02));

  const AutocastScope off(torch::kCPU, torch::kFloat32);
  CHECK(torch::linear(x, weight).scalar_type() == torch::kFloat32);
}

TEST_CASE("exceptions of libtorch become errors that name the operation") {
  const auto kind_of = [](auto body) {
    try {
      translate_errors("the operation", body);
    } catch (const Error& error) {
      CHECK_THAT(error.what(), Catch::StartsWith("the operation: "));
      return error.kind();
    }
    return ErrorKind::kCheck;
  };
  CHECK(kind_of([] { (void)torch::zeros({2, 3}).view({7}); }) == ErrorKind::kInternal);
  CHECK(kind_of([] { (void)torch::empty({std::int64_t{1} << 50}); }) == ErrorKind::kMemory);
}

TEST_CASE("device names are checked, and a missing device is reported") {
  CHECK(parse_device("cpu").is_cpu());
  for (const char* name : {"gpu", "cuda:", "cuda:-1", "cuda:x", "cuda:1x", ""}) {
    CAPTURE(name);
    try {
      (void)parse_device(name);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kArgument);
    }
  }
  try {
    (void)parse_device("cuda:100");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kMissing);
  }
}

TEST_CASE("CPU precisions without libtorch agree with those of libtorch") {
  const auto capabilities = at::cpu::get_cpu_capabilities();
  const auto any = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) {
      const auto found = capabilities.find(name);
      return found != capabilities.end() && found->second.isBool() && found->second.toBool();
    });
  };
  const MachineFacts machine = read_machine_facts();
  CHECK(cpu_precision(machine, Precision::kBfloat16).supported == any({"avx512_bf16", "amx_bf16", "bf16"}));
  CHECK(cpu_precision(machine, Precision::kFloat16).supported == any({"avx512_fp16", "amx_fp16"}));
}

TEST_CASE("precisions of a missing GPU are an error that names the libtorch of the build") {
  try {
    (void)gpu_precision("cuda:100", Precision::kBfloat16);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kMissing);
  }
  CHECK_THAT(torch_facts().version, Catch::EndsWith(torch_facts().cuda ? "+cuda" : "+cpu"));
}

}  // namespace unstarve
