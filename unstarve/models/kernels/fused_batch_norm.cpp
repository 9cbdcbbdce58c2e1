#include "unstarve/models/kernels/fused_batch_norm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include "unstarve/models/kernels/fused_batch_norm_passes.h"

namespace unstarve {
namespace {

using namespace fused_norm;

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr auto kChannelsLast = torch::MemoryFormat::ChannelsLast;

// Blocks of rows, each of which is summed by one thread: small enough for its cache and for sums in float32. They do
// not depend on the number of threads, and neither do results.
class Blocks {
 public:
  explicit Blocks(const torch::Tensor& x)
      : channels_(x.size(1)),
        rows_(x.numel() / channels_),
        block_rows_(std::max<std::int64_t>(1, kBlockValues / channels_)),
        block_bytes_(block_rows_ * channels_ * x.element_size()),
        bfloat16_(x.scalar_type() == torch::kBFloat16) {}

  [[nodiscard]] std::int64_t channels() const { return channels_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t count() const { return (rows_ + block_rows_ - 1) / block_rows_; }
  [[nodiscard]] RowBlock block(std::int64_t index) const {
    return {static_cast<std::size_t>(std::min(block_rows_, rows_ - index * block_rows_)),
            static_cast<std::size_t>(channels_), bfloat16_};
  }
  // Calls body(block, its index, its offset in bytes) for every block, concurrently.
  template <class Body>
  void for_each(const Body& body) const {
    at::parallel_for(0, count(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(block(i), i, i * block_bytes_);
    });
  }

 private:
  static constexpr std::int64_t kBlockValues = 65536;
  std::int64_t channels_, rows_, block_rows_, block_bytes_;
  bool bfloat16_;
};

// Null for an undefined tensor.
const void* at_offset(const torch::Tensor& tensor, std::int64_t bytes) {
  return tensor.defined() ? static_cast<const char*>(tensor.const_data_ptr()) + bytes : nullptr;
}
void* mutable_at_offset(const torch::Tensor& tensor, std::int64_t bytes) {
  return tensor.defined() ? static_cast<char*>(tensor.mutable_data_ptr()) + bytes : nullptr;
}

// Per channel.
struct BlockMoments {
  std::vector<double> mean, squares;  // squares: the sum of (x - mean)^2
  double rows = 0;

  [[nodiscard]] bool finite() const {
    const auto is_finite = [](double value) { return std::isfinite(value); };
    return std::all_of(mean.begin(), mean.end(), is_finite) && std::all_of(squares.begin(), squares.end(), is_finite);
  }
};

// Blocks are joined as by Chan, Golub and LeVeque (1979), which is exact enough for any mean.
BlockMoments moments_of(const torch::Tensor& x) {
  const Blocks blocks(x);
  const auto channels = static_cast<std::size_t>(blocks.channels());
  std::vector<float> parts(3 * channels * static_cast<std::size_t>(blocks.count()));
  blocks.for_each([&](const RowBlock& block, std::int64_t index, std::int64_t offset) {
    sum_moments(block, at_offset(x, offset), parts.data() + 3 * channels * static_cast<std::size_t>(index));
  });
  BlockMoments all{std::vector<double>(channels), std::vector<double>(channels)};
  const float* pivot = parts.data();
  for (std::int64_t i = 0; i < blocks.count(); ++i, pivot += 3 * channels) {
    const float *const sum = pivot + channels, *const squares = pivot + 2 * channels;
    const auto rows = static_cast<double>(blocks.block(i).rows);
    const double share = rows / (all.rows + rows), weight = all.rows * share;
    for (std::size_t c = 0; c < channels; ++c) {
      const double from_pivot = sum[c] / rows;
      const double distance = pivot[c] + from_pivot - all.mean[c];
      all.mean[c] += distance * share;
      all.squares[c] += squares[c] - from_pivot * sum[c] + distance * distance * weight;
    }
    all.rows += rows;
  }
  return all;
}

void update_running(const BatchNormState& state, const BlockMoments& moments) {
  auto* const mean = state.running_mean.mutable_data_ptr<float>();
  auto* const variance = state.running_var.mutable_data_ptr<float>();
  const auto move = [&](float& value, double to) {
    value = static_cast<float>((1 - state.momentum) * value + state.momentum * to);
  };
  for (std::size_t c = 0; c < moments.mean.size(); ++c) {
    move(mean[c], moments.mean[c]);
    move(variance[c], moments.squares[c] / (moments.rows - 1));
  }
}

torch::Tensor make_table(const BlockMoments& moments, const BatchNormState& state) {
  const std::size_t channels = moments.mean.size();
  torch::Tensor table = torch::empty({kTableRows, static_cast<std::int64_t>(channels)}, torch::kFloat32);
  auto* const to = table.mutable_data_ptr<float>();
  const auto* const weight = state.weight.const_data_ptr<float>();
  const auto* const bias = state.bias.const_data_ptr<float>();
  for (std::size_t c = 0; c < channels; ++c) {
    const double inverse = 1 / std::sqrt(moments.squares[c] / moments.rows + state.epsilon);
    const double scale = weight[c] * inverse;
    to[kMean * channels + c] = static_cast<float>(moments.mean[c]);
    to[kInverse * channels + c] = static_cast<float>(inverse);
    to[kScale * channels + c] = static_cast<float>(scale);
    to[kShift * channels + c] = static_cast<float>(bias[c] - moments.mean[c] * scale);
  }
  return table;
}

Gradients fused_gradients(const Saved& saved, const torch::Tensor& gradient) {
  const torch::Tensor &x = saved.x, &y = saved.y, dy = gradient.contiguous(kChannelsLast);
  const Blocks blocks(x);
  const auto channels = static_cast<std::size_t>(blocks.channels());
  Gradients result{torch::empty_like(x, torch::TensorOptions(), kChannelsLast), torch::empty_like(saved.weight),
                   torch::empty_like(saved.weight), gradient};
  if (y.defined()) result.g = torch::empty_like(y);
  if (x.is_cuda()) {
    gpu_gradients(saved, dy, result);
    return result;
  }
  NormCoefficients coefficients = coefficients_of(saved.table);

  std::vector<float> parts(2 * channels * static_cast<std::size_t>(blocks.count()));
  blocks.for_each([&](const RowBlock& block, std::int64_t index, std::int64_t offset) {
    sum_gradients(block,
                  {.x = at_offset(x, offset),
                   .dy = at_offset(dy, offset),
                   .y = at_offset(y, offset),
                   .g = y.defined() ? mutable_at_offset(result.g, offset) : nullptr,
                   .coefficients = coefficients,
                   .activation = saved.activation},
                  parts.data() + 2 * channels * static_cast<std::size_t>(index));
  });
  std::vector<double> sums(2 * channels);  // of g and g (x - mean)
  for (std::size_t i = 0; i < parts.size(); ++i) sums[i % sums.size()] += parts[i];

  const float* const inverse = row_of(saved.table, kInverse);
  const auto rows = static_cast<double>(blocks.rows());
  std::vector<float> slope(channels), shift(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const double scale = coefficients.scale[c], product = sums[channels + c] * inverse[c];
    result.dbias.mutable_data_ptr<float>()[c] = static_cast<float>(sums[c]);
    result.dweight.mutable_data_ptr<float>()[c] = static_cast<float>(product);
    slope[c] = static_cast<float>(-scale * product * inverse[c] / rows);
    shift[c] = static_cast<float>(-scale * sums[c] / rows);
  }
  coefficients.slope = slope.data();
  coefficients.offset = shift.data();
  blocks.for_each([&](const RowBlock& block, std::int64_t, std::int64_t offset) {
    input_gradient(block, {.x = at_offset(x, offset),
                           .dy = at_offset(y.defined() ? result.g : dy, offset),
                           .dx = mutable_at_offset(result.dx, offset),
                           .coefficients = coefficients,
                           .activation = y.defined() ? Activation::kNone : saved.activation});
  });
  return result;
}

// By torch's operations, for gradients of gradients.
Gradients differentiable_gradients(const Saved& saved, const torch::Tensor& gradient) {
  const std::array<std::int64_t, 3> dims{0, 2, 3};
  const auto per_channel = [](const torch::Tensor& values) { return values.view({1, -1, 1, 1}); };
  const torch::Tensor x = saved.x.to(torch::kFloat32);
  torch::Tensor g = gradient.to(torch::kFloat32);
  if (saved.activation != Activation::kNone) {
    const torch::Tensor p = saved.y.defined()
                                ? saved.y.detach()
                                : x.detach() * per_channel(saved.table[kScale]) + per_channel(saved.table[kShift]);
    torch::Tensor outside = p <= 0;
    if (saved.activation == Activation::kRelu6) outside = outside | (p >= 6);
    g = g.masked_fill(outside, 0);
  }
  const torch::Tensor centred = x - x.mean(dims, true);
  const torch::Tensor inverse = (centred.square().mean(dims, true) + saved.epsilon).rsqrt();
  const torch::Tensor u = centred * inverse;
  const torch::Tensor dx =
      per_channel(saved.weight) * inverse * (g - g.mean(dims, true) - u * (g * u).mean(dims, true));
  return {dx.to(saved.x.scalar_type()), (g * u).sum(dims), g.sum(dims), g.to(gradient.scalar_type())};
}

void cpu_normalise(const torch::Tensor& x, const torch::Tensor& residual, const torch::Tensor& table, const Plan& plan,
                   torch::Tensor& y) {
  Blocks(x).for_each([&](const RowBlock& block, std::int64_t, std::int64_t offset) {
    const void* const added = at_offset(residual, offset);
    normalise(block, {.x = at_offset(x, offset),
                      .inner = plan.inner ? added : nullptr,
                      .outer = plan.inner ? nullptr : added,
                      .y = mutable_at_offset(y, offset),
                      .coefficients = coefficients_of(table),
                      .activation = plan.activation});
  });
}

class FusedBatchNorm final : public torch::autograd::Function<FusedBatchNorm> {
 public:
  // `variables`: x, weight, bias and, if there is one, the residual.
  static torch::Tensor forward(AutogradContext* context, torch::TensorList variables, const torch::Tensor& table,
                               const Plan& plan) {
    const torch::Tensor& x = variables[0];
    const torch::Tensor residual = variables.size() > 3 ? variables[3] : torch::Tensor();
    torch::Tensor y = torch::empty_like(x, torch::TensorOptions(), kChannelsLast);
    if (x.is_cuda()) {
      gpu_normalise(x, residual, table, plan, y);
    } else {
      cpu_normalise(x, residual, table, plan, y);
    }
    const bool keep_y = plan.inner && plan.activation != Activation::kNone;
    context->save_for_backward({x, variables[1], table, keep_y ? y : torch::Tensor()});
    context->saved_data["activation"] = static_cast<std::int64_t>(plan.activation);
    context->saved_data["epsilon"] = plan.epsilon;
    context->saved_data["residual"] = residual.defined();
    context->saved_data["inner"] = plan.inner;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    auto& data = context->saved_data;
    const variable_list kept = context->get_saved_variables();
    const Saved saved{kept[0],
                      kept[1],
                      kept[2],
                      kept[3],
                      static_cast<Activation>(data["activation"].toInt()),
                      data["epsilon"].toDouble()};
    const Gradients result = torch::GradMode::is_enabled() ? differentiable_gradients(saved, gradients[0])
                                                           : fused_gradients(saved, gradients[0]);
    variable_list all{result.dx, result.dweight, result.dbias};
    if (data["residual"].toBool()) all.push_back(data["inner"].toBool() ? result.g : gradients[0]);
    all.resize(all.size() + 2);  // `table` and `plan` have none
    return all;
  }
};

// Also updates the running statistics. Undefined if a value is not finite: torch's operations then determine which
// values are infinite and which are NaN.
torch::Tensor cpu_table(const torch::Tensor& x, const BatchNormState& state) {
  const BlockMoments moments = moments_of(x);
  if (!moments.finite()) return {};
  update_running(state, moments);
  return make_table(moments, state);
}

bool is_fusable(const torch::Tensor& x) {
  const bool on_cpu = x.is_cpu() && (x.scalar_type() == torch::kFloat32 || x.scalar_type() == torch::kBFloat16);
  return (on_cpu || gpu_supports(x)) && x.dim() == 4 && x.numel() > 0 && x.is_contiguous(kChannelsLast);
}
bool is_fusable(const torch::Tensor& x, const BatchNormState& state, const torch::Tensor& residual) {
  if (!is_fusable(x)) return false;
  if (residual.defined() && (!is_fusable(residual) || residual.scalar_type() != x.scalar_type() ||
                             residual.device() != x.device() || residual.sizes() != x.sizes()))
    return false;
  for (const torch::Tensor& values : {state.weight, state.bias, state.running_mean, state.running_var}) {
    if (values.device() != x.device() || values.scalar_type() != torch::kFloat32 || !values.is_contiguous())
      return false;
  }
  return true;
}

}  // namespace

torch::Tensor apply_after_norm(const AfterNorm& after, torch::Tensor y) {
  if (after.inner.defined()) y = y.add_(after.inner);
  switch (after.activation) {
    case Activation::kNone: break;
    case Activation::kRelu: y = y.relu_(); break;
    case Activation::kRelu6: y = torch::hardtanh_(y, 0, 6); break;
    case Activation::kHardswish: y = torch::hardswish(y); break;  // a copy: its gradient is computed from its input
    case Activation::kSilu: y = torch::silu(y); break;
    case Activation::kGelu: y = torch::gelu(y); break;
  }
  return after.outer.defined() ? after.outer + y : y;
}

torch::Tensor separate_batch_norm(const torch::Tensor& x, const BatchNormState& state, const AfterNorm& after) {
  return apply_after_norm(after,
                          torch::batch_norm(x, state.weight, state.bias, state.running_mean, state.running_var,
                                            /*training=*/true, state.momentum, state.epsilon, /*cudnn_enabled=*/true));
}

torch::Tensor fused_batch_norm(const torch::Tensor& x, const BatchNormState& state, const AfterNorm& after) {
  if (after.activation > Activation::kRelu6) return apply_after_norm(after, fused_batch_norm(x, state));
  const bool inner = after.inner.defined();
  const torch::Tensor& residual = inner ? after.inner : after.outer;
  if (is_fusable(x, state, residual)) {
    const torch::Tensor table = x.is_cuda() ? gpu_table(x, state) : cpu_table(x, state);
    if (table.defined()) {
      std::vector<torch::Tensor> variables{x, state.weight, state.bias};
      if (residual.defined()) variables.push_back(residual);
      return FusedBatchNorm::apply(torch::TensorList(variables), table, Plan{after.activation, inner, state.epsilon});
    }
  }
  return separate_batch_norm(x, state, after);
}

}  // namespace unstarve
