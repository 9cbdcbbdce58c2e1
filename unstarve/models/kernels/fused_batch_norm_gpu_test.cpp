// The kernels on a GPU compared with torch's operations in float64 on the host. Skipped without a GPU.

#include "unstarve/models/kernels/fused_batch_norm.h"

#include <algorithm>
#include <vector>

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <catch2/catch.hpp>

#include "unstarve/models/kernels/batch_norm_device.h"
#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve::norm_on_gpu {
namespace {

constexpr auto kLast = torch::MemoryFormat::ChannelsLast;

bool gpu_present() {
  const auto* guard = c10::impl::device_guard_impl_registry[static_cast<std::size_t>(c10::DeviceType::CUDA)].load();
  if (has_device_norm() && guard != nullptr && guard->deviceCount() > 0) return true;
  WARN("SKIPPED, no kernel of batch norm has run: expected a GPU, and a build with CUDA and its package of libtorch");
  return false;
}

struct GpuCase {
  std::vector<std::int64_t> sizes;
  Activation activation = Activation::kNone;
  bool inner = false, outer = false;
  torch::Dtype type = torch::kFloat32;
};

struct GpuInputs {
  torch::Tensor x, residual, dy, weight, bias;
};

GpuInputs gpu_inputs(const GpuCase& test) {
  const auto random = [&](double scale, double shift) {
    return (torch::randn(test.sizes) * scale + shift).to(test.type).contiguous(kLast);
  };
  return {random(2, 5), random(1, 0), random(1, 0.3), torch::randn({test.sizes[1]}), torch::randn({test.sizes[1]})};
}

// y, gradients of x, the residual, weight and bias, running mean and variance; on the host.
std::vector<torch::Tensor> run_on(torch::Device device, torch::Dtype type, const GpuInputs& inputs,
                                  const GpuCase& test) {
  const auto leaf = [&](const torch::Tensor& value, torch::Dtype as) {
    return value.to(device, as).detach().clone().requires_grad_();
  };
  const bool reference = type == torch::kFloat64;
  const torch::Dtype statistics = reference ? torch::kFloat64 : torch::kFloat32;
  const torch::Tensor x = leaf(inputs.x, type), residual = leaf(inputs.residual, type);
  const auto options = torch::dtype(statistics).device(device);
  const BatchNormState state{leaf(inputs.weight, statistics), leaf(inputs.bias, statistics),
                             torch::full({x.size(1)}, 0.5, options), torch::full({x.size(1)}, 2.0, options)};
  AfterNorm after{test.activation};
  if (test.inner) after.inner = residual;
  if (test.outer) after.outer = residual;
  const torch::Tensor y = fused_batch_norm(x, state, after);
  const bool fused = y.grad_fn()->name().find("FusedBatchNorm") != std::string::npos;
  CHECK(fused != reference);
  y.backward(inputs.dy.to(device, type));
  std::vector<torch::Tensor> results{y.detach(),        x.grad(),           state.weight.grad(),
                                     state.bias.grad(), state.running_mean, state.running_var};
  if (test.inner || test.outer) results.push_back(residual.grad());
  for (torch::Tensor& result : results) result = result.to(torch::kCPU, torch::kFloat64);
  return results;
}

// At a bound of the activation, rounding decides whether a gradient passes: there it is 0.
void remove_gradients_at_bounds(GpuInputs& inputs, GpuCase test) {
  test.outer = false;
  test.activation = Activation::kNone;
  const torch::Tensor z = run_on(torch::kCPU, torch::kFloat64, inputs, test)[0];
  constexpr double kRounding = 0.04;  // of bfloat16 at 6
  const torch::Tensor near = (z.abs() < kRounding / 8).logical_or((z - 6).abs() < kRounding);
  inputs.dy = inputs.dy.masked_fill(near, 0);
}

void check_on_gpu(const GpuCase& test, double tolerance) {
  CAPTURE(test.sizes, test.activation, test.inner, test.outer, static_cast<int>(test.type));
  torch::manual_seed(7);
  GpuInputs inputs = gpu_inputs(test);
  remove_gradients_at_bounds(inputs, test);
  const auto ours = run_on(torch::Device(torch::kCUDA, 0), test.type, inputs, test);
  const auto expected = run_on(torch::kCPU, torch::kFloat64, inputs, test);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    CAPTURE(i);
    const double difference = (ours[i] - expected[i]).abs().max().item<double>();
    CHECK(difference < tolerance * std::max(expected[i].abs().max().item<double>(), 1e-3));
  }
}

}  // namespace

TEST_CASE("on a GPU, values, gradients and running statistics equal those of torch's operations in float64") {
  if (!gpu_present()) return;
  for (const auto activation : {Activation::kNone, Activation::kRelu, Activation::kRelu6}) {
    for (const auto& [inner, outer] : {std::pair{false, false}, std::pair{true, false}, std::pair{false, true}}) {
      for (const std::int64_t channels : {1, 3, 16, 24, 33, 64, 512}) {
        check_on_gpu({{4, channels, 7, 6}, activation, inner, outer}, 2e-5);
        check_on_gpu({{4, channels, 7, 6}, activation, inner, outer, torch::kHalf}, 3e-3);
        check_on_gpu({{4, channels, 7, 6}, activation, inner, outer, torch::kBFloat16}, 2e-2);
      }
    }
  }
}

TEST_CASE("on a GPU, large tensors and those of few rows are normalised in all blocks") {
  if (!gpu_present()) return;
  for (const auto& sizes : std::vector<std::vector<std::int64_t>>{
           {64, 64, 56, 56}, {8, 2048, 7, 7}, {3, 33, 40, 41}, {1, 16, 5, 5}, {9, 16, 1, 1}, {2, 1, 3, 1}})
    check_on_gpu({sizes, Activation::kRelu, true, false}, 5e-5);
}

TEST_CASE("on a GPU, two runs give the same bits") {
  if (!gpu_present()) return;
  const GpuCase test{{16, 64, 30, 30}, Activation::kRelu, true, false, torch::kHalf};
  const GpuInputs inputs = gpu_inputs(test);
  const auto one = run_on(torch::Device(torch::kCUDA, 0), test.type, inputs, test);
  const auto two = run_on(torch::Device(torch::kCUDA, 0), test.type, inputs, test);
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(torch::equal(one[i], two[i]));
}

TEST_CASE("on a GPU, numerical gradients confirm those of the fused passes") {
  if (!gpu_present()) return;
  const torch::Device device(torch::kCUDA, 0);
  torch::manual_seed(3);
  // Away from the corner of the activation: the residual separates the values from 0.
  const torch::Tensor base = torch::randn({2, 4, 3, 3});
  const torch::Tensor shift = torch::randint(0, 2, {2, 4, 3, 3}) * 20 - 10;
  const torch::Tensor residual = shift.to(device, torch::kFloat32).contiguous(kLast);
  const torch::Tensor weight = torch::randn({4}), direction = torch::randn({2, 4, 3, 3});
  const auto loss = [&](const torch::Tensor& x) {
    const BatchNormState state{weight.to(device).requires_grad_(), torch::zeros({4}, device), torch::zeros({4}, device),
                               torch::ones({4}, device)};
    const torch::Tensor y = fused_batch_norm(x, state, {.activation = Activation::kRelu, .inner = residual});
    return (y.to(torch::kFloat64) * direction.to(device, torch::kFloat64)).sum();
  };
  const torch::Tensor x = base.to(device).contiguous(kLast).detach().requires_grad_();
  loss(x).backward();
  const torch::Tensor gradient = x.grad().to(torch::kCPU, torch::kFloat64);
  const torch::NoGradGuard no_grad;
  constexpr double kStep = 1e-2;
  for (const std::int64_t i : {0, 5, 17, 40, 71}) {
    const auto moved = [&](double by) {
      torch::Tensor values = base.clone();
      values.view({-1})[i] += by;
      return loss(values.to(device).contiguous(kLast)).item<double>();
    };
    const double numerical = (moved(kStep) - moved(-kStep)) / (2 * kStep);
    CHECK(gradient.contiguous().view({-1})[i].item<double>() == Approx(numerical).margin(2e-2));
  }
}

}  // namespace unstarve::norm_on_gpu
