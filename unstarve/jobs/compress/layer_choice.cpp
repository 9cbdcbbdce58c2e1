#include "unstarve/jobs/compress/layer_choice.h"

#include <algorithm>

namespace unstarve {

std::vector<std::size_t> order_of_return(std::vector<LayerCost> costs) {
  std::ranges::stable_sort(costs, [](const LayerCost& a, const LayerCost& b) {
    if (a.saved_ms <= 0 || b.saved_ms <= 0) return a.saved_ms <= 0 && b.saved_ms > 0;
    return a.divergence * b.saved_ms > b.divergence * a.saved_ms;
  });
  std::vector<std::size_t> layers;
  for (const LayerCost& cost : costs) layers.push_back(cost.layer);
  return layers;
}

}  // namespace unstarve
