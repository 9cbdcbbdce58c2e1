#include "unstarve/torch/updates/loss_scaler.h"

namespace unstarve {
namespace {

constexpr float kInitialScale = 65536;
constexpr double kGrowth = 2;
constexpr double kBackoff = 0.5;
constexpr std::int64_t kGrowthInterval = 2000;

}  // namespace

LossScaler::LossScaler(torch::Device device)
    : scale_(torch::full({1}, kInitialScale, torch::dtype(torch::kFloat32).device(device))),
      good_steps_(torch::zeros({1}, torch::dtype(torch::kInt32).device(device))) {}

torch::Tensor LossScaler::unscale(const std::vector<torch::Tensor>& gradients) {
  const torch::NoGradGuard no_grad;
  torch::Tensor found_inf = torch::zeros({1}, scale_.options());
  // Scales are powers of two: the reciprocal is exact.
  const torch::Tensor inverse = scale_.reciprocal();
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, found_inf, inverse);
  return found_inf;
}

void LossScaler::update(const torch::Tensor& found_inf) {
  at::_amp_update_scale_(scale_, good_steps_, found_inf, kGrowth, kBackoff, kGrowthInterval);
}

void LossScaler::reset() {
  scale_.fill_(kInitialScale);
  good_steps_.zero_();
}

}  // namespace unstarve
