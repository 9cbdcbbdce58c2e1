#pragma once
// How a model's predictions change, with 95 % intervals.
//
// Threads: pure. Sources: score interval: Wilson 1927; paired difference: Agresti and Min 2005.

#include <cstdint>
#include <span>
#include <vector>

namespace unstarve {

struct ShareInterval {
  double share = 0, low = 0, high = 1;  // of 0..1
  std::uint64_t count = 0;
};

// Precondition: 0 <= part <= all. Without any: [0, 1].
[[nodiscard]] ShareInterval share_interval(std::uint64_t part, std::uint64_t all);

// The share that `before` has right and `after` wrong, less the opposite: the loss of accuracy. The same images in the
// same order, not empty.
[[nodiscard]] ShareInterval accuracy_loss(const std::vector<bool>& before, const std::vector<bool>& after);

// Mean Kullback-Leibler divergence of the softmax of rows of `outputs` from that of `expected`, in nats per row.
[[nodiscard]] double mean_divergence(std::span<const float> expected, std::span<const float> outputs,
                                     std::size_t classes);

// The largest difference between outputs, as a share of the largest magnitude of `expected`. Equal lengths, not empty.
[[nodiscard]] double largest_difference(std::span<const float> expected, std::span<const float> outputs);

}  // namespace unstarve
