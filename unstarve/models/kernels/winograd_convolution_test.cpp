// Winograd convolutions and their gradients compared with those of torch in float64.

#include "unstarve/models/kernels/winograd_convolution.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <catch2/catch.hpp>

#include "unstarve/models/layers.h"
#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {
namespace {

constexpr auto kNhwcFormat = torch::MemoryFormat::ChannelsLast;

struct ConvolutionCase {
  std::int64_t samples, in, out, height, width;
};

struct ConvolutionInputs {
  torch::Tensor x, weight, dy;
};

ConvolutionInputs convolution_inputs(const ConvolutionCase& test) {
  torch::manual_seed(3);
  const double deviation = std::sqrt(2.0 / (9.0 * static_cast<double>(test.in)));
  return {torch::randn({test.samples, test.in, test.height, test.width}).contiguous(kNhwcFormat),
          (torch::randn({test.out, test.in, 3, 3}) * deviation).contiguous(kNhwcFormat),
          torch::randn({test.samples, test.out, test.height, test.width})};
}

torch::Tensor torch_convolution(const torch::Tensor& x, const torch::Tensor& weight) {
  return torch::conv2d(x, weight, {}, {1, 1}, {1, 1});
}

// The output, and the gradients of input and weight.
template <class Convolve>
std::vector<torch::Tensor> run_convolution(const ConvolutionInputs& inputs, torch::Dtype type,
                                           const Convolve& convolve) {
  const torch::Tensor x = inputs.x.to(type).detach().clone(kNhwcFormat).requires_grad_();
  const torch::Tensor weight = inputs.weight.to(type).detach().clone().requires_grad_();
  const torch::Tensor y = convolve(x, weight);
  y.backward(inputs.dy.to(type));
  return {y.detach(), x.grad(), weight.grad()};
}

// The largest difference relative to the largest value.
double relative_error(const torch::Tensor& value, const torch::Tensor& expected) {
  return ((value.to(torch::kFloat64) - expected).abs().max() / expected.abs().max()).item<double>();
}

struct WithThreads {
  explicit WithThreads(int threads) { at::set_num_threads(threads); }
  ~WithThreads() { at::set_num_threads(before); }
  int before = at::get_num_threads();
};

struct WithAutocast {
  WithAutocast() { at::autocast::set_autocast_enabled(at::kCPU, true); }
  ~WithAutocast() { at::autocast::set_autocast_enabled(at::kCPU, false); }
};

// bfloat16 instructions of AMX are faster; without AVX2 nothing was measured.
bool replaces_bfloat16_here() {
  std::ifstream file("/proc/cpuinfo");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return text.find(" avx2") != std::string::npos && text.find("amx_bf16") == std::string::npos;
}

std::string operation_of(const torch::Tensor& y) { return y.grad_fn()->name(); }

}  // namespace

TEST_CASE("Winograd convolutions and their gradients are those of torch") {
  // Sizes that tiles divide and others; the last chunk has fewer images; channels that cache lines divide and others.
  for (const ConvolutionCase& test :
       {ConvolutionCase{4, 32, 32, 16, 16}, ConvolutionCase{9, 48, 32, 14, 14}, ConvolutionCase{130, 64, 40, 7, 7},
        ConvolutionCase{3, 33, 35, 19, 22}, ConvolutionCase{64, 32, 64, 1, 1}, ConvolutionCase{2, 32, 32, 60, 30}}) {
    CAPTURE(test.samples, test.in, test.out, test.height, test.width);
    const ConvolutionInputs inputs = convolution_inputs(test);
    const auto expected = run_convolution(inputs, torch::kFloat64, torch_convolution);
    const auto direct = run_convolution(inputs, torch::kFloat32, torch_convolution);
    const auto ours = run_convolution(inputs, torch::kFloat32, winograd_convolution);
    for (std::size_t i = 0; i < ours.size(); ++i) {
      CAPTURE(i);
      CHECK(relative_error(ours[i], expected[i]) < 1e-5);
      CHECK(relative_error(ours[i], expected[i]) < 4 * relative_error(direct[i], expected[i]) + 1e-6);
    }
    CHECK(ours[0].is_contiguous(kNhwcFormat));
    CHECK(ours[1].is_contiguous(kNhwcFormat));
    CHECK(ours[2].strides() == inputs.weight.strides());
  }
}

TEST_CASE("Winograd convolutions under autocast to bfloat16 are more exact than those of torch") {
  for (const ConvolutionCase& test : {ConvolutionCase{9, 48, 32, 14, 14}, ConvolutionCase{3, 33, 35, 19, 22}}) {
    ConvolutionInputs inputs = convolution_inputs(test);
    inputs.x = inputs.x.to(torch::kBFloat16).to(torch::kFloat32);
    inputs.dy = inputs.dy.to(torch::kBFloat16).to(torch::kFloat32);
    const auto expected = run_convolution(inputs, torch::kFloat64, torch_convolution);
    const auto run = [&](const auto& convolve) {
      const torch::Tensor x = inputs.x.to(torch::kBFloat16).clone(kNhwcFormat).requires_grad_();
      const torch::Tensor weight = inputs.weight.clone().requires_grad_();
      torch::Tensor y;
      {
        const WithAutocast autocast;
        y = convolve(x, weight);
      }
      y.backward(inputs.dy.to(torch::kBFloat16));
      return std::vector<torch::Tensor>{y.detach(), x.grad(), weight.grad()};
    };
    const auto ours = run(winograd_convolution), theirs = run(torch_convolution);
    for (std::size_t i = 0; i < ours.size(); ++i) {
      CHECK(ours[i].scalar_type() == theirs[i].scalar_type());
      CHECK(relative_error(ours[i], expected[i]) < (i < 2 ? 0.004 : 1e-5));  // half a unit of bfloat16; not rounded
      CHECK(relative_error(ours[i], expected[i]) <= relative_error(theirs[i], expected[i]));
    }
    CHECK(ours[0].is_contiguous(kNhwcFormat));
    CHECK(ours[1].is_contiguous(kNhwcFormat));
  }
}

TEST_CASE("only the gradients that are needed of a Winograd convolution are computed") {
  const ConvolutionInputs inputs = convolution_inputs({4, 32, 32, 16, 16});
  const auto expected = run_convolution(inputs, torch::kFloat32, winograd_convolution);
  const torch::Tensor weight = inputs.weight.clone().requires_grad_();
  winograd_convolution(inputs.x, weight).backward(inputs.dy);
  CHECK(weight.grad().equal(expected[2]));
  const torch::Tensor x = inputs.x.clone(kNhwcFormat).requires_grad_();
  winograd_convolution(x, inputs.weight).backward(inputs.dy);
  CHECK(x.grad().equal(expected[1]));
}

TEST_CASE("second-order gradients of Winograd convolutions are those of torch") {
  const ConvolutionInputs inputs = convolution_inputs({4, 32, 32, 16, 16});
  const auto second = [&](const auto& convolve) {
    const torch::Tensor x = inputs.x.clone(kNhwcFormat).requires_grad_();
    const torch::Tensor weight = inputs.weight.clone().requires_grad_();
    const auto first = torch::autograd::grad({convolve(x, weight).square().mean()}, {x, weight}, {}, true, true);
    return torch::autograd::grad({first[0].square().sum() + first[1].square().sum()}, {weight})[0];
  };
  CHECK(relative_error(second(winograd_convolution), second(torch_convolution).to(torch::kFloat64)) < 1e-4);
}

TEST_CASE("Winograd convolutions depend on the number of threads in the last digits at most") {
  const ConvolutionInputs inputs = convolution_inputs({20, 32, 32, 28, 28});
  const auto run = [&](int threads) {
    const WithThreads limited(threads);
    return run_convolution(inputs, torch::kFloat32, winograd_convolution);
  };
  const auto one = run(1), three = run(3), again = run(3);
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(relative_error(one[i], three[i].to(torch::kFloat64)) < 1e-5);
    CHECK(three[i].equal(again[i]));
  }
}

TEST_CASE("values that are not finite stay visible in Winograd convolutions") {
  const ConvolutionInputs inputs = convolution_inputs({4, 32, 32, 16, 16});
  inputs.x[1][5][3][3] = std::numeric_limits<float>::quiet_NaN();
  const torch::Tensor y = winograd_convolution(inputs.x, inputs.weight);
  CHECK(y[1].isnan().any().item<bool>());
  CHECK_FALSE(y[0].isnan().any().item<bool>());
  const torch::Tensor weight = inputs.weight.clone().requires_grad_();
  inputs.dy[0][0][5][5] = std::numeric_limits<float>::infinity();
  winograd_convolution(inputs.x, weight).backward(inputs.dy);
  CHECK_FALSE(weight.grad().isfinite().all().item<bool>());
}

TEST_CASE("Winograd's algorithm is used only where it is possible and pays") {
  const WithThreads two(2);
  const torch::Tensor x = torch::zeros({8, 64, 16, 16}).contiguous(kNhwcFormat), weight = torch::zeros({64, 64, 3, 3});
  CHECK(winograd_pays(x, weight));
  CHECK_FALSE(winograd_pays(x.contiguous(), weight));
  CHECK_FALSE(winograd_pays(x.to(torch::kBFloat16), weight.to(torch::kBFloat16)));
  CHECK_FALSE(winograd_pays(x.to(torch::kBFloat16), weight));
  CHECK_FALSE(winograd_pays(x, torch::zeros({64, 64, 5, 5})));
  CHECK_FALSE(winograd_pays(x, torch::zeros({64, 32, 3, 3})));  // two groups
  CHECK_FALSE(winograd_pays(x, torch::zeros({16, 64, 3, 3})));
  CHECK_FALSE(winograd_pays(x.slice(0, 0, 2), weight));                                         // few tiles
  CHECK_FALSE(winograd_pays(torch::zeros({1, 64, 512, 512}).contiguous(kNhwcFormat), weight));  // much memory
  CHECK_FALSE(winograd_pays(torch::zeros({64, 64, 5, 5}).contiguous(kNhwcFormat), weight));  // tiles of 3 / 8 padding
  const bool half = replaces_bfloat16_here();
  const torch::Tensor small = torch::zeros({32, 512, 7, 7}).contiguous(kNhwcFormat);
  const torch::Tensor many_kernels = torch::zeros({512, 512, 3, 3});
  CHECK(winograd_pays(small, many_kernels));
  {
    const WithAutocast autocast;
    CHECK_FALSE(winograd_pays(x, weight));
    CHECK(winograd_pays(x.to(torch::kBFloat16), weight) == half);
    CHECK_FALSE(winograd_pays(small.to(torch::kBFloat16), many_kernels));
    at::autocast::set_autocast_dtype(at::kCPU, torch::kFloat16);
    CHECK_FALSE(winograd_pays(x.to(torch::kBFloat16), weight));
    at::autocast::set_autocast_dtype(at::kCPU, torch::kBFloat16);
  }
  {
    const WithThreads many(17);  // more than images and blocks of channels
    CHECK_FALSE(winograd_pays(x, weight));
  }
  CHECK(winograd_pays(x, weight));
}

TEST_CASE("a trace contains convolutions instead of Winograd's algorithm") {
  const WithThreads two(2);
  Conv conv({.in = 32, .out = 32});
  const torch::Tensor x = torch::randn({8, 32, 16, 16}).contiguous(kNhwcFormat);
  for (torch::Tensor& weight : conv.parameters()) weight.set_requires_grad(false);
  const auto trace = torch::jit::tracer::trace(
      {x}, [&](torch::jit::Stack inputs) -> torch::jit::Stack { return {conv.forward(inputs[0].toTensor())}; },
      [](const torch::autograd::Variable&) { return std::string(); });
  CHECK_THAT(trace.first->graph->toString(), Catch::Contains("aten::_convolution"));
}

TEST_CASE("gradients under autocast are computed in float32") {
  const ConvolutionInputs inputs = convolution_inputs({4, 32, 32, 16, 16});
  const auto expected = run_convolution(inputs, torch::kFloat32, winograd_convolution);
  const torch::Tensor weight = inputs.weight.clone().requires_grad_();
  const torch::Tensor y = winograd_convolution(inputs.x, weight);
  const WithAutocast autocast;
  y.backward(inputs.dy);
  CHECK(weight.grad().equal(expected[2]));
}

TEST_CASE("layers use Winograd's algorithm until it is switched off") {
  const WithThreads two(2);
  const torch::Tensor x = torch::randn({8, 32, 16, 16}).contiguous(kNhwcFormat);
  Conv conv({.in = 32, .out = 32});
  CHECK_THAT(operation_of(conv.forward(x)), Catch::Contains("WinogradConvolution"));
  conv.use_winograd(false);
  CHECK_THAT(operation_of(conv.forward(x)), !Catch::Contains("WinogradConvolution"));
  for (const ConvShape& other :
       {ConvShape{.in = 32, .out = 32, .stride = 2}, ConvShape{.in = 32, .out = 32, .padding = 0},
        ConvShape{.in = 32, .out = 32, .groups = 32}, ConvShape{.in = 32, .out = 32, .bias = true}}) {
    CHECK_THAT(operation_of(Conv(other).forward(x)), !Catch::Contains("WinogradConvolution"));
  }
}

}  // namespace unstarve
