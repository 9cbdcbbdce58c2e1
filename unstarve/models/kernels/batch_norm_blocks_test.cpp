// The blocks of a GPU's batch norm, run on the host thread by thread, compared with torch's operations in float64.

#include "unstarve/models/kernels/batch_norm_blocks.h"

#include <algorithm>
#include <vector>

#include <torch/types.h>
#include <torch/utils.h>
#include <catch2/catch.hpp>

#include "unstarve/models/kernels/batch_norm_device.h"
#include "unstarve/models/testing/catch_after_torch.h"

namespace unstarve::norm_blocks {
namespace {

constexpr auto kLast = torch::MemoryFormat::ChannelsLast;

// Runs the threads of a block one after the other, in an order that does not help them.
struct HostTeam {
  template <class F>
  void each(const F& f) const {
    for (int thread = NormGrid::kThreads; thread-- > 0;) f(thread);
  }
};

template <class Body>
void for_blocks(const NormGrid& grid, const Body& body) {
  for (int row = 0; row < grid.row_blocks; ++row)
    for (int channel = 0; channel < grid.channel_blocks; ++channel) body(NormBlock{channel, row});
}

struct Sizes {
  std::int64_t batch, channels, height, width;
};

struct Case {
  Sizes sizes;
  Activation activation = Activation::kNone;
  bool inner = false, outer = false;
};

struct Results {
  torch::Tensor y, dx, dresidual, dweight, dbias, running_mean, running_var;
};

struct Inputs {
  torch::Tensor x, residual, dy, weight, bias;
};

Inputs make_inputs(const Sizes& sizes, torch::Dtype type) {
  const std::vector<std::int64_t> shape{sizes.batch, sizes.channels, sizes.height, sizes.width};
  const auto random = [&](double scale, double shift) {
    return (torch::randn(shape) * scale + shift).to(type).contiguous(kLast);
  };
  return {random(2, 5), random(1, 0), random(1, 0.3), torch::randn({sizes.channels}), torch::randn({sizes.channels})};
}

constexpr double kMomentum = 0.1, kEpsilon = 1e-5;

Results expected_of(const Inputs& inputs, const Case& test) {
  const auto prepare = [](const torch::Tensor& value) { return value.to(torch::kFloat64).detach().requires_grad_(); };
  const torch::Tensor x = prepare(inputs.x), residual = prepare(inputs.residual);
  const torch::Tensor weight = prepare(inputs.weight), bias = prepare(inputs.bias);
  Results results;
  results.running_mean = torch::full({x.size(1)}, 0.5, torch::kFloat64);
  results.running_var = torch::full({x.size(1)}, 2.0, torch::kFloat64);
  torch::Tensor y =
      torch::batch_norm(x, weight, bias, results.running_mean, results.running_var, true, kMomentum, kEpsilon, false);
  if (test.inner) y = y + residual;
  if (test.activation == Activation::kRelu) y = torch::relu(y);
  if (test.activation == Activation::kRelu6) y = torch::relu6(y);
  if (test.outer) y = y + residual;
  y.backward(inputs.dy.to(torch::kFloat64));
  results.y = y.detach();
  results.dx = x.grad();
  results.dresidual = residual.grad();
  results.dweight = weight.grad();
  results.dbias = bias.grad();
  return results;
}

// As fused_batch_norm_gpu.cpp, with the blocks on the host.
template <class T, int kCount>
Results results_of(const Inputs& inputs, const Case& test) {
  const HostTeam team;
  const auto& [x, residual, dy, weight, bias] = inputs;
  const std::int64_t channels = x.size(1);
  const NormGrid grid = norm_grid(x.numel() / channels, channels, kCount);
  std::vector<float> shared(kNormShared<kCount>), parts(static_cast<std::size_t>(grid.workspace()));
  std::vector<double> joined(2 * NormGrid::kJoinThreads);
  const torch::Tensor table = torch::empty({4, channels}), slopes = torch::empty({2, channels});
  Results results{torch::empty_like(x),        torch::empty_like(x),     {},
                  torch::empty({channels}),    torch::empty({channels}), torch::full({channels}, 0.5),
                  torch::full({channels}, 2.0)};
  const auto row = [&](const torch::Tensor& of, int index) { return of.const_data_ptr<float>() + index * channels; };

  for_blocks(grid, [&](const NormBlock& block) {
    std::ranges::fill(shared, 1e9F);  // a block starts with the values of another one
    moments_block<kCount>(team, grid, block, x.const_data_ptr<T>(), {shared.data(), parts.data()});
  });
  for (int block = 0; block < grid.join_blocks(); ++block) {
    join_moments_block(team, grid, block,
                       {.parts = parts.data(),
                        .weight = weight.const_data_ptr<float>(),
                        .bias = bias.const_data_ptr<float>(),
                        .running_mean = results.running_mean.mutable_data_ptr<float>(),
                        .running_var = results.running_var.mutable_data_ptr<float>(),
                        .momentum = kMomentum,
                        .epsilon = kEpsilon,
                        .table = table.mutable_data_ptr<float>()},
                       joined.data());
  }
  NormCoefficients coefficients{.scale = row(table, 2), .shift = row(table, 3), .mean = row(table, 0)};
  const auto forward = tensors_of<T>(NormForward{.x = x.const_data_ptr(),
                                                 .inner = test.inner ? residual.const_data_ptr() : nullptr,
                                                 .outer = test.outer ? residual.const_data_ptr() : nullptr,
                                                 .y = results.y.mutable_data_ptr(),
                                                 .coefficients = coefficients,
                                                 .activation = test.activation});
  for_blocks(grid, [&](const NormBlock& block) { normalise_block<kCount>(team, grid, block, forward); });

  const bool has_g = test.inner && test.activation != Activation::kNone;
  const torch::Tensor g = torch::empty_like(x);
  NormBackward pass{.x = x.const_data_ptr(),
                    .dy = dy.const_data_ptr(),
                    .y = has_g ? results.y.const_data_ptr() : nullptr,
                    .g = has_g ? g.mutable_data_ptr() : nullptr,
                    .coefficients = coefficients,
                    .activation = test.activation};
  const auto sums = tensors_of<T>(pass, pass.g);
  for_blocks(grid, [&](const NormBlock& block) {
    std::ranges::fill(shared, 1e9F);
    gradients_block<kCount>(team, grid, block, sums, {shared.data(), parts.data()});
  });
  for (int block = 0; block < grid.join_blocks(); ++block) {
    join_gradients_block(team, grid, block,
                         {.parts = parts.data(),
                          .table = table.const_data_ptr<float>(),
                          .dweight = results.dweight.mutable_data_ptr<float>(),
                          .dbias = results.dbias.mutable_data_ptr<float>(),
                          .coefficients = slopes.mutable_data_ptr<float>()},
                         joined.data());
  }
  pass.coefficients.slope = row(slopes, 0);
  pass.coefficients.offset = row(slopes, 1);
  if (has_g) {
    pass.dy = pass.g;
    pass.y = nullptr;
    pass.activation = Activation::kNone;
  }
  const auto last = tensors_of<T>(pass, results.dx.mutable_data_ptr());
  for_blocks(grid, [&](const NormBlock& block) { input_gradient_block<kCount>(team, grid, block, last); });
  if (test.inner) results.dresidual = has_g ? g : dy;
  return results;
}

double distance(const torch::Tensor& value, const torch::Tensor& expected) {
  const torch::Tensor difference = (value.to(torch::kFloat64) - expected).abs().max();
  return difference.item<double>() / std::max(expected.abs().max().item<double>(), 1e-3);
}

template <class T, int kCount>
void check_blocks(const Case& test, double tolerance) {
  CAPTURE(test.sizes.batch, test.sizes.channels, test.sizes.height, kCount, test.activation, test.inner, test.outer);
  torch::manual_seed(11);
  const Inputs inputs = make_inputs(test.sizes, c10::CppTypeToScalarType<T>::value);
  const Results ours = results_of<T, kCount>(inputs, test), expected = expected_of(inputs, test);
  CHECK(distance(ours.y, expected.y) < tolerance);
  CHECK(distance(ours.dx, expected.dx) < tolerance);
  if (test.inner) CHECK(distance(ours.dresidual, expected.dresidual) < tolerance);
  CHECK(distance(ours.dweight, expected.dweight) < tolerance);
  CHECK(distance(ours.dbias, expected.dbias) < tolerance);
  CHECK(distance(ours.running_mean, expected.running_mean) < 1e-5);
  CHECK(distance(ours.running_var, expected.running_var) < 1e-5);
}

}  // namespace

TEST_CASE("a grid covers every row and channel once, with a bounded number of blocks") {
  for (const std::int64_t channels : {1, 3, 8, 24, 64, 1000, 2048, 20000}) {
    for (const std::int64_t rows : {1, 7, 64, 12544, 3211264}) {
      for (const int vector : {1, 4, 8}) {
        if (channels % vector != 0) continue;
        CAPTURE(channels, rows, vector);
        const NormGrid grid = norm_grid(rows, channels, vector);
        const std::int64_t vectors = channels / vector;
        CHECK(std::int64_t{grid.channel_blocks} * grid.lanes >= vectors);
        CHECK((grid.channel_blocks - std::int64_t{1}) * grid.lanes < vectors);
        CHECK(grid.row_blocks * grid.block_rows >= rows);
        CHECK((grid.row_blocks - 1) * grid.block_rows < rows);
        CHECK(grid.lanes * grid.row_threads() == NormGrid::kThreads);
        CHECK(grid.row_blocks <= 512);
        CHECK(grid.row_blocks <= 65535);
        CHECK(grid.workspace() == 2 * channels * grid.row_blocks);
      }
    }
  }
}

TEST_CASE("16 bytes are read by one instruction where rows and addresses permit it") {
  CHECK(norm_vector(64, NormElement::kFloat16, 0x1000) == 8);
  CHECK(norm_vector(64, NormElement::kBfloat16, 0x1010) == 8);
  CHECK(norm_vector(64, NormElement::kFloat32, 0x1010) == 4);
  CHECK(norm_vector(12, NormElement::kFloat16, 0x1000) == 1);
  CHECK(norm_vector(12, NormElement::kFloat32, 0x1000) == 4);
  CHECK(norm_vector(64, NormElement::kFloat16, 0x1002) == 1);
}

TEST_CASE("blocks of float32 give the values and gradients of torch's operations in float64") {
  for (const auto activation : {Activation::kNone, Activation::kRelu, Activation::kRelu6}) {
    for (const auto& [inner, outer] : {std::pair{false, false}, std::pair{true, false}, std::pair{false, true}}) {
      check_blocks<float, 4>({{4, 24, 7, 6}, activation, inner, outer}, 1e-5);
      check_blocks<float, 1>({{4, 5, 7, 6}, activation, inner, outer}, 1e-5);
    }
  }
}

TEST_CASE("blocks of 16 bits give them within their precision") {
  for (const auto& [inner, outer] : {std::pair{false, false}, std::pair{true, false}, std::pair{false, true}}) {
    const auto with = [&](const Sizes& sizes) { return Case{sizes, Activation::kRelu, inner, outer}; };
    check_blocks<c10::Half, 8>(with({4, 32, 7, 6}), 2e-3);
    check_blocks<c10::Half, 1>(with({4, 9, 7, 6}), 2e-3);
    check_blocks<c10::BFloat16, 8>(with({4, 64, 5, 6}), 1.5e-2);
    check_blocks<c10::BFloat16, 1>(with({4, 7, 5, 6}), 1.5e-2);
  }
}

TEST_CASE("several blocks of rows and channels, few rows, many channels") {
  for (const Sizes& sizes : {Sizes{16, 8, 40, 40}, Sizes{2, 1024, 5, 5}, Sizes{1, 4, 1, 3}, Sizes{3, 516, 9, 11}})
    check_blocks<float, 4>({sizes, Activation::kRelu, true, false}, 2e-5);
  for (const Sizes& sizes : {Sizes{2, 1, 3, 1}, Sizes{3, 33, 40, 41}, Sizes{1, 300, 2, 2}})
    check_blocks<float, 1>({sizes, Activation::kRelu, false, true}, 2e-5);
}

TEST_CASE("the variance of values far from zero keeps float32 precision in blocks") {
  Inputs inputs = make_inputs({8, 4, 30, 30}, torch::kFloat32);
  inputs.x = (inputs.x * 0.5 + 1000).contiguous(kLast);
  const Case test{{8, 4, 30, 30}};
  const Results ours = results_of<float, 4>(inputs, test), expected = expected_of(inputs, test);
  CHECK(distance(ours.running_var, expected.running_var) < 5e-6);
  CHECK(distance(ours.running_mean, expected.running_mean) < 1e-6);
}

TEST_CASE("NaN passes through the blocks") {
  Inputs inputs = make_inputs({2, 4, 4, 4}, torch::kFloat32);
  inputs.x[1][2][3][0] = std::numeric_limits<float>::quiet_NaN();
  const Results ours = results_of<float, 4>(inputs, {{2, 4, 4, 4}, Activation::kRelu});
  CHECK(ours.y.select(1, 2).isnan().all().item<bool>());
  CHECK(ours.dx.select(1, 2).isnan().all().item<bool>());
  CHECK(ours.y.select(1, 1).isfinite().all().item<bool>());
}

}  // namespace unstarve::norm_blocks
