#include "unstarve/torch/sgd.h"

#include <optional>
#include <utility>

namespace unstarve {

Sgd::Sgd(std::vector<torch::Tensor> parameters, const SgdOptions& options)
    : parameters_(std::move(parameters)), options_(options) {
  // With zeros the first step equals that of PyTorch, which initialises the momentum with the first gradient.
  for (const torch::Tensor& parameter : parameters_) momentum_.push_back(torch::zeros_like(parameter).detach());
}

void Sgd::step(double learning_rate, const torch::Tensor& found_inf) {
  const torch::NoGradGuard no_grad;
  if (options_.fused) {
    step_fused(learning_rate, found_inf);
  } else if (!found_inf.defined() || found_inf.item<float>() == 0) {
    step_each(learning_rate);
  }
}

void Sgd::step_each(double learning_rate) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    torch::Tensor gradient = parameters_[i].grad();
    if (!gradient.defined()) continue;
    if (options_.weight_decay != 0) gradient = gradient.add(parameters_[i], options_.weight_decay);
    momentum_[i].mul_(options_.momentum).add_(gradient);
    parameters_[i].add_(gradient.add(momentum_[i], options_.momentum), -learning_rate);
  }
}

void Sgd::step_fused(double learning_rate, const torch::Tensor& found_inf) {
  std::vector<torch::Tensor> parameters;
  std::vector<torch::Tensor> gradients;
  std::vector<torch::Tensor> momentum;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].grad().defined()) continue;
    parameters.push_back(parameters_[i]);
    gradients.push_back(parameters_[i].grad());
    momentum.push_back(momentum_[i]);
  }
  const std::optional<torch::Tensor> flag = found_inf.defined() ? std::optional(found_inf) : std::nullopt;
  at::_fused_sgd_(parameters, gradients, momentum, options_.weight_decay, options_.momentum, learning_rate,
                  /*dampening=*/0, /*nesterov=*/true, /*maximize=*/false, /*is_first_step=*/false,
                  /*grad_scale=*/std::nullopt, flag);
}

void Sgd::clear_gradients() {
  for (torch::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

std::vector<torch::Tensor> Sgd::gradients() const {
  std::vector<torch::Tensor> defined;
  for (const torch::Tensor& parameter : parameters_) {
    if (parameter.grad().defined()) defined.push_back(parameter.grad());
  }
  return defined;
}

}  // namespace unstarve
