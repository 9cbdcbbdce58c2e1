#include "unstarve/torch/updates/lookahead.h"

#include <cmath>

namespace unstarve {

Lookahead::Lookahead(const Network& network, const LookaheadSettings& settings)
    : settings_(settings), updates_(torch::zeros({}, torch::kInt64)) {
  for (const StateEntry& entry : network_state(network)) {
    if (!entry.tensor.is_floating_point() || entry.infinite) continue;
    names_.push_back(entry.name);
    weights_.push_back(entry.tensor.detach());
    slow_.push_back(weights_.back().clone());
  }
}

void Lookahead::update(double share) {
  const torch::NoGradGuard no_grad;
  updates_.fill_(++count_);
  const bool due = count_ % settings_.every == 0;
  if (due) at::_foreach_lerp_(slow_, weights_, 1 - settings_.decay * std::pow(share, 3));
  if (due || share >= 1) at::_foreach_copy_(weights_, slow_);
}

void Lookahead::end() {
  const torch::NoGradGuard no_grad;
  at::_foreach_copy_(weights_, slow_);
}

void Lookahead::reset() {
  const torch::NoGradGuard no_grad;
  count_ = 0;
  updates_.zero_();
  at::_foreach_copy_(slow_, weights_);
}

std::vector<StateEntry> Lookahead::state() const {
  std::vector<StateEntry> entries{{"lookahead.updates", updates_}};
  for (std::size_t i = 0; i < names_.size(); ++i) entries.push_back({"lookahead." + names_[i], slow_[i]});
  return entries;
}

}  // namespace unstarve
