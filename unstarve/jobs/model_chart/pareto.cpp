#include "unstarve/jobs/model_chart/pareto.h"

#include <algorithm>

namespace unstarve {
namespace {

bool beats(const CostAndAccuracy& a, const CostAndAccuracy& b) {
  const bool as_good = a.latency_ms <= b.latency_ms && a.accuracy >= b.accuracy;
  return as_good && (a.latency_ms < b.latency_ms || a.accuracy > b.accuracy);
}

}  // namespace

std::vector<bool> pareto_front(std::span<const CostAndAccuracy> networks) {
  std::vector<bool> front;
  for (const CostAndAccuracy& each : networks)
    front.push_back(std::ranges::none_of(networks, [&](const CostAndAccuracy& other) { return beats(other, each); }));
  return front;
}

}  // namespace unstarve
