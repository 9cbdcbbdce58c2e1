// The fused passes compared with torch's operations in float64.

#include "unstarve/models/kernels/fused_batch_norm.h"

#include <cmath>
#include <limits>
#include <vector>

#include <torch/csrc/autograd/autograd.h>
#include <catch2/catch.hpp>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/models/layers.h"
#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve {
namespace {

constexpr auto kLast = torch::MemoryFormat::ChannelsLast;

enum class Residual { kNone, kInner, kOuter };

struct Case {
  std::vector<std::int64_t> sizes;
  Activation activation = Activation::kNone;
  Residual residual = Residual::kNone;
  torch::Dtype type = torch::kFloat32;
};

struct Inputs {
  torch::Tensor x, residual, dy, weight, bias;
};

Inputs make_inputs(const Case& test) {
  const auto random = [&](double scale, double shift) {
    return (torch::randn(test.sizes) * scale + shift).to(test.type).contiguous(kLast);
  };
  const std::int64_t channels = test.sizes[1];
  return {random(2, 5), random(1, 0), random(1, 0.3), torch::randn({channels}), torch::randn({channels})};
}

struct Outputs {
  torch::Tensor y, dx, dresidual, dweight, dbias, mean, variance;
  bool fused = false;
};

// With the types of the inputs, or all in float64 by torch's operations.
Outputs run(const Inputs& inputs, const Case& test, bool reference) {
  const auto prepare = [&](const torch::Tensor& value) {
    return (reference ? value.to(torch::kFloat64) : value.clone()).detach().requires_grad_();
  };
  const torch::Tensor x = prepare(inputs.x), residual = prepare(inputs.residual);
  const auto type = reference ? torch::kFloat64 : torch::kFloat32;
  const BatchNormState state{prepare(inputs.weight), prepare(inputs.bias), torch::full({x.size(1)}, 0.5, type),
                             torch::full({x.size(1)}, 2.0, type)};
  AfterNorm after{test.activation};
  if (test.residual == Residual::kInner) after.inner = residual;
  if (test.residual == Residual::kOuter) after.outer = residual;
  const torch::Tensor y = fused_batch_norm(x, state, after);
  const bool fused = y.grad_fn()->name().find("FusedBatchNorm") != std::string::npos;
  y.backward(reference ? inputs.dy.to(torch::kFloat64) : inputs.dy);
  return {y.detach(),        x.grad(),           residual.grad(),   state.weight.grad(),
          state.bias.grad(), state.running_mean, state.running_var, fused};
}

// The largest difference relative to the largest value.
double distance(const torch::Tensor& value, const torch::Tensor& expected) {
  const torch::Tensor difference = (value.to(torch::kFloat64) - expected.to(torch::kFloat64)).abs().max();
  return difference.item<double>() / std::max(expected.abs().max().item<double>(), 1e-3);
}

void check_equal(const Outputs& ours, const Outputs& expected, double tolerance) {
  CHECK(distance(ours.y, expected.y) < tolerance);
  CHECK(distance(ours.dx, expected.dx) < tolerance);
  if (expected.dresidual.defined()) CHECK(distance(ours.dresidual, expected.dresidual) < tolerance);
  CHECK(distance(ours.dweight, expected.dweight) < tolerance);
  CHECK(distance(ours.dbias, expected.dbias) < tolerance);
  CHECK(distance(ours.mean, expected.mean) < 1e-5);
  CHECK(distance(ours.variance, expected.variance) < 1e-5);
}

void check(const Case& test, double tolerance) {
  torch::manual_seed(7);
  const Inputs inputs = make_inputs(test);
  const Outputs ours = run(inputs, test, false), expected = run(inputs, test, true);
  CHECK(ours.fused);
  CHECK_FALSE(expected.fused);
  CHECK(ours.y.scalar_type() == test.type);
  CHECK(ours.y.is_contiguous(kLast));
  CHECK(ours.dx.scalar_type() == test.type);
  check_equal(ours, expected, tolerance);
}

}  // namespace

TEST_CASE("values, gradients and running statistics equal those of torch's operations in float64") {
  const auto activation = GENERATE(Activation::kNone, Activation::kRelu, Activation::kRelu6);
  const auto residual = GENERATE(Residual::kNone, Residual::kInner, Residual::kOuter);
  CAPTURE(activation, residual);
  for (const std::int64_t channels : {1, 3, 5, 16, 24, 33, 64}) {
    CAPTURE(channels);
    check({{4, channels, 7, 6}, activation, residual}, 1e-5);
    check({{4, channels, 7, 6}, activation, residual, torch::kBFloat16}, 1e-2);
  }
}

TEST_CASE("tensors of several blocks, single images and single positions") {
  const auto residual = GENERATE(Residual::kNone, Residual::kInner, Residual::kOuter);
  for (const auto& sizes : std::vector<std::vector<std::int64_t>>{
           {3, 33, 40, 41}, {2, 2048, 8, 7}, {1, 16, 5, 5}, {9, 16, 1, 1}, {1, 3, 1, 8}, {5, 7, 1, 2}, {2, 1, 3, 1}}) {
    CAPTURE(sizes);
    check({sizes, Activation::kRelu, residual}, 2e-5);
  }
}

TEST_CASE("the variance of values far from zero has float32 precision") {
  const torch::Tensor x = (torch::randn({8, 5, 30, 30}) + 1000).contiguous(kLast);
  BatchNormState state{torch::ones({5}), torch::zeros({5}), torch::zeros({5}), torch::zeros({5}), 1.0};
  (void)fused_batch_norm(x, state);
  const auto [variance, mean] = torch::var_mean(x.to(torch::kFloat64), torch::IntArrayRef{0, 2, 3}, /*unbiased=*/true);
  CHECK(distance(state.running_var, variance) < 5e-6);
  CHECK(distance(state.running_mean, mean) < 1e-6);
}

TEST_CASE("results do not depend on the number of threads") {
  const Case test{{4, 64, 48, 48}, Activation::kRelu, Residual::kInner};
  const Inputs inputs = make_inputs(test);
  const int threads = torch::get_num_threads();
  torch::set_num_threads(1);
  const Outputs one = run(inputs, test, false);
  torch::set_num_threads(3);
  const Outputs three = run(inputs, test, false);
  torch::set_num_threads(threads);
  CHECK(torch::equal(one.y, three.y));
  CHECK(torch::equal(one.dx, three.dx));
  CHECK(torch::equal(one.dweight, three.dweight));
  CHECK(torch::equal(one.variance, three.variance));
}

TEST_CASE("a gradient in another memory format, or expanded, is accepted") {
  const Case test{{4, 6, 5, 3}, Activation::kRelu, GENERATE(Residual::kInner, Residual::kOuter)};
  Inputs inputs = make_inputs(test);
  SECTION("row-major") { inputs.dy = inputs.dy.contiguous(); }
  SECTION("expanded") { inputs.dy = torch::randn({4, 6, 1, 1}).expand({4, 6, 5, 3}); }
  SECTION("a part of a larger tensor") { inputs.dy = torch::randn({4, 6, 10, 3}).slice(2, 0, 10, 2); }
  const Outputs ours = run(inputs, test, false);
  CHECK(ours.fused);
  check_equal(ours, run(inputs, test, true), 1e-5);
}

TEST_CASE("NaN and infinity spread as with torch's operations") {
  const Case test{{2, 3, 4, 4}, Activation::kRelu, Residual::kInner};
  Inputs inputs = make_inputs(test);
  const float value = GENERATE(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity());
  const auto spread = [&] {
    Inputs row_major = inputs;
    row_major.x = inputs.x.contiguous();
    const Outputs ours = run(inputs, test, false), theirs = run(row_major, test, false);
    CHECK_FALSE(theirs.fused);
    for (const auto& [a, b] :
         {std::pair{ours.y, theirs.y}, std::pair{ours.dx, theirs.dx}, std::pair{ours.dresidual, theirs.dresidual},
          std::pair{ours.mean, theirs.mean}, std::pair{ours.variance, theirs.variance}})
      CHECK(torch::allclose(a, b, 1e-4, 1e-4, /*equal_nan=*/true));
  };
  SECTION("in x") {
    inputs.x[1][2][3][0] = value;
    spread();
  }
  SECTION("in the residual") {
    inputs.residual[1][2][3][0] = value;
    spread();
  }
  SECTION("in the gradient") {
    inputs.dy[1][2][3][0] = value;
    spread();
  }
}

TEST_CASE("tensors that the fused passes do not support use torch's operations") {
  const Case test{{2, 4, 3, 3}, Activation::kRelu6, Residual::kInner};
  Inputs inputs = make_inputs(test);
  const Outputs expected = run(inputs, test, true);
  SECTION("row-major") { inputs.x = inputs.x.contiguous(); }
  SECTION("a row-major residual") { inputs.residual = inputs.residual.contiguous(); }
  const Outputs ours = run(inputs, test, false);
  CHECK_FALSE(ours.fused);
  check_equal(ours, expected, 1e-5);
}

TEST_CASE("a layer is fused unless the setting is off, with the same output") {
  BatchNorm layer(8);
  const torch::Tensor x = torch::randn({2, 8, 4, 4}).contiguous(kLast).requires_grad_();
  const auto run = [&](bool fuse) {
    layer.fuse(fuse);
    return layer.forward(x, {Activation::kRelu});
  };
  const torch::Tensor fused = layer.forward(x, {Activation::kRelu}), separate = run(false);
  const auto is_fused = [](const torch::Tensor& y) {
    return y.grad_fn()->name().find("FusedBatchNorm") != std::string::npos;
  };
  CHECK(is_fused(fused));
  CHECK_FALSE(is_fused(separate));
  CHECK(is_fused(run(true)));
  CHECK(torch::allclose(fused, separate, 1e-5, 1e-5));
}

TEST_CASE("one value per channel is an error in training, and changes no running statistics") {
  BatchNorm layer(8);
  layer.fuse(GENERATE(true, false));
  const torch::Tensor x = torch::randn({1, 8, 1, 1}).contiguous(kLast);
  CHECK(testing::error_message([&] { (void)layer.forward(x, {}); }, ErrorKind::kInput) ==
        "batch norm: found one value per channel; expected at least two to train with. Use larger images or batches, "
        "or batch.last: drop");
  for (const auto& buffer : layer.named_buffers()) {
    INFO(buffer.key());
    CHECK(buffer.value().sum().item<double>() == (buffer.key() == "running_var" ? 8 : 0));
  }
  CHECK(layer.forward(torch::randn({1, 8, 1, 2}), {}).isfinite().all().item<bool>());
  layer.eval();
  CHECK(layer.forward(x, {}).isfinite().all().item<bool>());
}

TEST_CASE("gradients of gradients equal those of torch's operations") {
  const Case test{{3, 4, 3, 2},
                  GENERATE(Activation::kNone, Activation::kRelu),
                  GENERATE(Residual::kNone, Residual::kInner, Residual::kOuter)};
  const Inputs inputs = make_inputs(test);
  // The gradients of the squared gradients of x and the weight.
  const auto second = [&](const torch::Tensor& values) {
    const torch::Tensor x = values.detach().clone().requires_grad_();
    const torch::Tensor weight = inputs.weight.to(values.dtype()).detach().clone().requires_grad_();
    const torch::Tensor dy = inputs.dy.to(values.dtype()).detach().clone().requires_grad_();
    const torch::Tensor zero = torch::zeros({4}, values.dtype()), one = torch::ones({4}, values.dtype());
    const torch::Tensor bias = inputs.bias.to(values.dtype()).requires_grad_();
    AfterNorm after{test.activation};
    if (test.residual == Residual::kInner) after.inner = inputs.residual.to(values.dtype());
    if (test.residual == Residual::kOuter) after.outer = inputs.residual.to(values.dtype());
    const torch::Tensor y = fused_batch_norm(x, {weight, bias, zero, one}, after);
    const auto first = torch::autograd::grad({y}, {x, weight}, {dy}, /*retain_graph=*/true, /*create_graph=*/true);
    return torch::autograd::grad({first[0].square().sum() + first[1].square().sum()}, {x, weight, dy});
  };
  const auto ours = second(inputs.x), expected = second(inputs.x.to(torch::kFloat64));
  for (std::size_t i = 0; i < ours.size(); ++i) CHECK(distance(ours[i], expected[i]) < 1e-4);
}

TEST_CASE("without gradients only the output and the running statistics are computed") {
  const torch::NoGradGuard no_grad;
  const torch::Tensor x = torch::randn({2, 4, 3, 3}).contiguous(kLast);
  const BatchNormState state{torch::ones({4}), torch::zeros({4}), torch::zeros({4}), torch::ones({4})};
  const torch::Tensor y = fused_batch_norm(x, state, {Activation::kRelu});
  CHECK(distance(y, torch::batch_norm(x, {}, {}, {}, {}, true, 0.1, 1e-5, true).relu()) < 1e-5);
  CHECK_FALSE(torch::equal(state.running_mean, torch::zeros({4})));
}

}  // namespace unstarve
