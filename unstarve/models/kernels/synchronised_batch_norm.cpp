#include "unstarve/models/kernels/synchronised_batch_norm.h"

#include <torch/csrc/autograd/custom_function.h>

#include <tuple>

namespace unstarve {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Per channel, over the batches of all ranks.
struct Moments {
  torch::Tensor mean, variance;  // float32; biased
  double count = 0;              // of the values
};

Moments moments_of_ranks(const torch::Tensor& x, const SumOverRanks& sum) {
  const double count = static_cast<double>(x.numel()) / static_cast<double>(x.size(1));
  const auto [variance, mean] = torch::var_mean(x.to(torch::kFloat32), torch::IntArrayRef{0, 2, 3}, /*unbiased=*/false);
  // In float64, so that the difference of large sums is exact enough.
  const torch::Tensor mean64 = mean.to(torch::kFloat64), variance64 = variance.to(torch::kFloat64);
  torch::Tensor sums =
      torch::cat({mean64.new_full({1}, count), mean64 * count, (variance64 + mean64.square()) * count});
  sum(sums);
  const std::int64_t channels = x.size(1);
  const torch::Tensor total = sums.narrow(0, 0, 1);
  const torch::Tensor all_mean = sums.narrow(0, 1, channels) / total;
  const torch::Tensor all_variance = (sums.narrow(0, 1 + channels, channels) / total - all_mean.square()).clamp_min(0);
  return {all_mean.to(torch::kFloat32), all_variance.to(torch::kFloat32), total.item<double>()};
}

struct Synchronised {
  const BatchNormState& state;
  const SumOverRanks& sum;
};

class SynchronisedBatchNorm final : public torch::autograd::Function<SynchronisedBatchNorm> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, const torch::Tensor& weight,
                               const torch::Tensor& bias, const Synchronised& over) {
    const auto& [state, sum] = over;
    const Moments moments = moments_of_ranks(x, sum);
    state.running_mean.lerp_(moments.mean, state.momentum);
    state.running_var.lerp_(moments.variance * (moments.count / (moments.count - 1)), state.momentum);
    context->save_for_backward({x, weight, moments.mean, moments.variance});
    context->saved_data["epsilon"] = state.epsilon;
    context->saved_data["count"] = moments.count;
    context->saved_data["sum"] = reinterpret_cast<std::int64_t>(&sum);
    // The kernel of evaluation: normalisation by a given mean and variance.
    return std::get<0>(torch::native_batch_norm(x, weight, bias, moments.mean, moments.variance, /*training=*/false, 0,
                                                state.epsilon));
  }

  // With u = (x - mean) / deviation and sums over the positions of all ranks:
  //   dx = weight / deviation (dy - sum(dy) / n - u sum(dy u) / n)
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &weight = saved[1], &mean = saved[2], &variance = saved[3];
    const double epsilon = context->saved_data["epsilon"].toDouble(), count = context->saved_data["count"].toDouble();
    const auto& sum = *reinterpret_cast<const SumOverRanks*>(context->saved_data["sum"].toInt());
    // The gradients with a fixed mean and variance: weight dy / deviation, sum(dy u), sum(dy).
    auto [dx, dweight, dbias] =
        torch::native_batch_norm_backward(gradients[0].contiguous(x.suggest_memory_format()), x, weight, mean, variance,
                                          {}, {}, /*train=*/false, epsilon, {true, true, true});
    torch::Tensor sums = torch::cat({dweight.to(torch::kFloat64), dbias.to(torch::kFloat64)});
    sum(sums);
    const std::vector<torch::Tensor> parts = sums.to(torch::kFloat32).chunk(2);
    const torch::Tensor inverse = (variance + epsilon).rsqrt();
    const torch::Tensor slope = weight * inverse.square() * parts[0] / count;
    const torch::Tensor shift = weight * inverse * parts[1] / count - mean * slope;
    const auto per_channel = [&](const torch::Tensor& values) {
      return values.to(x.scalar_type()).view({1, -1, 1, 1});
    };
    dx.sub_(per_channel(shift)).addcmul_(x, per_channel(slope), -1);
    return {dx, dweight, dbias, {}, {}};
  }
};

}  // namespace

torch::Tensor synchronised_batch_norm(const torch::Tensor& x, const BatchNormState& state, const SumOverRanks& sum) {
  return SynchronisedBatchNorm::apply(x, state.weight, state.bias, Synchronised{state, sum});
}

}  // namespace unstarve
