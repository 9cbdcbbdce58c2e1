#pragma once
// The exponential moving average of a network's weights and batch-norm statistics (EMA), which often classifies better
// than the weights themselves.
//
//   average <- d average + (1 - d) value,  d = min(decay, (1 + n) / (10 + n)) at update n = 0, 1, ...
//
// d is small at first, so that the initial weights are forgotten. Integer buffers are copied.
// Ownership: owns the averages, shares the values with the network. Threads: one at a time.

#include <vector>

#include <torch/types.h>

#include "unstarve/models/weights.h"

namespace unstarve {

class WeightAverage {
 public:
  // Starts with the present values of the network.
  WeightAverage(const Network& network, double decay);

  void update();
  // Exchanges averages and values; call it twice. The addresses of the values do not change.
  void swap();
  // Starts again with the present values.
  void reset();

  // The averages under the names of network_state(), and the number of updates, "average.updates". After they were
  // overwritten, restored() must be called.
  [[nodiscard]] const std::vector<StateEntry>& averages() const { return averages_; }
  [[nodiscard]] const torch::Tensor& updates() const { return updates_; }
  void restored() { count_ = updates_.item<double>(); }

 private:
  std::vector<StateEntry> values_;
  std::vector<StateEntry> averages_;
  std::vector<torch::Tensor> floating_values_, floating_averages_, other_values_, other_averages_;
  double decay_;
  torch::Tensor updates_;
  double count_ = 0;
};

}  // namespace unstarve
