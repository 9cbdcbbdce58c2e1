#pragma once
// The Pareto front of networks: those for which no other is both faster and more accurate.
//
// Threads: pure.

#include <span>
#include <vector>

namespace unstarve {

struct CostAndAccuracy {
  double latency_ms = 0;
  double accuracy = 0;
};

// For each network whether it is on the front: no other is at least as fast and at least as accurate, and better in one
// of both. Equal networks are on it together. Values must be finite.
[[nodiscard]] std::vector<bool> pareto_front(std::span<const CostAndAccuracy> networks);

}  // namespace unstarve
