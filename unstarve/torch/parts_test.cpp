// Parts of a step on the host: normalisation, autocast, errors, devices and precisions.

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include <ATen/cpu/Utils.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "unstarve/models/zoo.h"
#include "unstarve/torch/common/guards.h"
#include "unstarve/torch/common/normalise.h"
#include "unstarve/torch/torch_device.h"
#include "unstarve/torch/torch_trainer.h"
#include "unstarve/train/device_precision.h"

#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {

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
  CHECK(kind_of([] { throw dnnl::error(dnnl_out_of_memory, "could not create a primitive"); }) == ErrorKind::kMemory);
  CHECK(kind_of([] { throw dnnl::error(dnnl_unimplemented, "could not create a primitive"); }) == ErrorKind::kInternal);
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
  CHECK(cpu_precision(machine, Precision::kFloat16).supported == any({"amx_fp16"}));
}

TEST_CASE("precisions of a missing GPU are an error that names the libtorch of the build") {
  try {
    (void)libtorch_precision("cuda:100", Precision::kBfloat16);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kMissing);
  }
  CHECK_THAT(torch_facts().version, Catch::EndsWith(torch_facts().cuda ? "+cuda" : "+cpu"));
}

}  // namespace unstarve
