#include "unstarve/torch/updates/weight_average.h"

#include <algorithm>

namespace unstarve {

WeightAverage::WeightAverage(const Network& network, double decay)
    : values_(network_state(network)), decay_(decay), updates_(torch::zeros({}, torch::kFloat64)) {
  const torch::NoGradGuard no_grad;
  for (StateEntry& value : values_) {
    value.tensor = value.tensor.detach();
    averages_.push_back({value.name, value.tensor.clone(), value.optional, value.infinite});
    const bool floating = value.tensor.is_floating_point() && !value.infinite;
    (floating ? floating_values_ : other_values_).push_back(value.tensor);
    (floating ? floating_averages_ : other_averages_).push_back(averages_.back().tensor);
  }
}

void WeightAverage::update() {
  const torch::NoGradGuard no_grad;
  const double decay = std::min(decay_, (1 + count_) / (10 + count_));
  updates_.fill_(++count_);
  at::_foreach_lerp_(floating_averages_, floating_values_, 1 - decay);
  if (!other_values_.empty()) at::_foreach_copy_(other_averages_, other_values_);
}

void WeightAverage::swap() {
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const torch::Tensor average = averages_[i].tensor.clone();
    averages_[i].tensor.copy_(values_[i].tensor);
    values_[i].tensor.copy_(average);
  }
}

void WeightAverage::reset() {
  const torch::NoGradGuard no_grad;
  count_ = 0;
  updates_.zero_();
  for (std::size_t i = 0; i < values_.size(); ++i) averages_[i].tensor.copy_(values_[i].tensor);
}

}  // namespace unstarve
