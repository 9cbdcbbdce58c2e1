#include "unstarve/diagnose/profile/long_steps.h"

#include "unstarve/core/statistics.h"

namespace unstarve {
namespace {

// The distance of all indexes, for example those of checkpoints.
std::size_t distance_of(const std::vector<std::size_t>& indexes) {
  if (indexes.size() < 3 || indexes[1] == indexes[0] + 1) return 0;
  const std::size_t distance = indexes[1] - indexes[0];
  for (std::size_t i = 2; i < indexes.size(); ++i)
    if (indexes[i] - indexes[i - 1] != distance) return 0;
  return distance;
}

}  // namespace

LongSteps long_steps(std::span<const double> seconds, double factor) {
  LongSteps result;
  if (seconds.empty()) return result;
  result.median_s = median(seconds);
  double all_s = 0;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    all_s += seconds[i];
    if (seconds[i] <= factor * result.median_s) continue;
    result.indexes.push_back(i);
    result.excess_s += seconds[i] - result.median_s;
  }
  if (all_s > 0) result.share = result.excess_s / all_s;
  result.period = distance_of(result.indexes);
  return result;
}

}  // namespace unstarve
