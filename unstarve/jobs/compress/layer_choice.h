#pragma once
// Which layers are computed in int8, if not all may be: a knapsack of measured time against measured error.
//
// Threads: pure.

#include <cstddef>
#include <vector>

namespace unstarve {

struct LayerCost {
  std::size_t layer = 0;
  double saved_ms = 0;    // by int8
  double divergence = 0;  // of the outputs if only this layer is int8 (accuracy.h)
};

// The layers in the order in which they return to float32: those that save nothing, then the greatest divergence per
// saved time first. The greedy solution of the knapsack, which differs from the best by at most one layer.
[[nodiscard]] std::vector<std::size_t> order_of_return(std::vector<LayerCost> costs);

}  // namespace unstarve
