#include "unstarve/torch/networks/fake_quantiser.h"

#include <utility>

namespace unstarve {
namespace {

constexpr double kSmallestScale = 1e-30;  // as in infer/int8
constexpr std::int64_t kWeightLevels = 127;

}  // namespace

FakeQuantiser::FakeQuantiser(std::vector<infer::QuantisationPlan::Activation> activations)
    : activations_(std::move(activations)) {
  std::vector<float> levels;
  for (const auto& activation : activations_) levels.push_back(static_cast<float>(activation.levels()));
  limits_ = register_buffer("limits", torch::zeros({static_cast<std::int64_t>(levels.size())}));
  levels_ = torch::tensor(levels);
}

void FakeQuantiser::begin_pass(bool observe, bool round) {
  observe_ = observe;
  round_ = round;
  largest_.assign(observe ? activations_.size() : 0, {});
  if (!round || activations_.empty()) return;
  const torch::NoGradGuard no_grad;
  if (levels_.device() != limits_.device()) levels_ = levels_.to(limits_.device());
  if (!zero_point_.defined() || zero_point_.device() != limits_.device())
    zero_point_ = torch::zeros({1}, limits_.options().dtype(torch::kInt32));
  // Without values other than zero any scale is right.
  const torch::Tensor scales = torch::where(limits_ > 0, (limits_ / levels_).clamp_min(kSmallestScale), 1);
  scales_ = scales.split(1);
}

void FakeQuantiser::end_pass() {
  if (!observe_ || largest_.empty()) return;
  const torch::NoGradGuard no_grad;
  torch::Tensor largest = torch::stack(largest_);
  largest_.clear();
  if (sum_over_ranks_ != nullptr) {
    torch::Tensor sums = torch::cat({largest, torch::ones({1}, largest.options())});
    (*sum_over_ranks_)(sums);
    largest = sums.narrow(0, 0, largest.numel()) / sums[-1];
  }
  limits_.copy_(torch::where(limits_ > 0, torch::lerp(limits_, largest, kBatchShare), largest));
}

torch::Tensor FakeQuantiser::activation(std::size_t index, const torch::Tensor& x) {
  const bool positive = activations_[index].positive;
  if (observe_) {
    const torch::Tensor values = x.detach();
    largest_[index] = (positive ? values.amax() : values.abs().amax()).to(torch::kFloat32);
  }
  if (!round_) return {};
  const std::int64_t levels = activations_[index].levels();
  return torch::fake_quantize_per_tensor_affine(x.to(torch::kFloat32), scales_[index], zero_point_,
                                                positive ? 0 : -levels, levels);
}

torch::Tensor FakeQuantiser::weights(const torch::Tensor& weights, std::int64_t channel_axis) const {
  if (!round_) return weights;
  torch::Tensor scales;
  {
    const torch::NoGradGuard no_grad;
    std::vector<std::int64_t> others;
    for (std::int64_t axis = 0; axis < weights.dim(); ++axis)
      if (axis != channel_axis) others.push_back(axis);
    scales = (weights.detach().abs().amax(others) / kWeightLevels).clamp_min(kSmallestScale);
  }
  // As float32: integers would be checked on the host, which waits for the device and cannot be recorded.
  const torch::Tensor zero_points = torch::zeros_like(scales);
  return torch::fake_quantize_per_channel_affine(weights, scales, zero_points, channel_axis, -kWeightLevels,
                                                 kWeightLevels);
}

}  // namespace unstarve
