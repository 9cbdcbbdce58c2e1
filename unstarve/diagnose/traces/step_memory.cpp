#include "unstarve/diagnose/traces/step_memory.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace unstarve {
namespace {

// `grown`: by each step. 0 unless the third and the last quarter of the steps grow.
double growth_of(std::span<const std::int64_t> grown) {
  const auto sum = [](std::span<const std::int64_t> steps) {
    return std::accumulate(steps.begin(), steps.end(), std::int64_t{0});
  };
  const std::span<const std::int64_t> half = grown.subspan(grown.size() / 2);
  const std::int64_t third = sum(half.first(half.size() / 2)), last = sum(half.subspan(half.size() / 2));
  return third > 0 && last > 0 ? static_cast<double>(third + last) / static_cast<double>(half.size()) : 0;
}

}  // namespace

MemoryUse memory_in_steps(const std::vector<MemoryChange>& changes, const std::vector<Interval>& recorded,
                          const TraceSteps& steps) {
  MemoryUse memory;
  auto change = changes.begin();
  auto step = steps.windows.begin();
  std::vector<std::int64_t> grown;  // by each step
  for (const Interval& window : recorded) {
    std::int64_t level = 0, least = 0;
    // The highest level until then.
    const auto advance = [&](std::int64_t until, bool in_step) {
      std::int64_t highest = level;
      for (; change != changes.end() && change->time_ns < until; ++change) {
        level += change->bytes;
        least = std::min(least, level);
        highest = std::max(highest, level);
        if (!in_step) continue;
        ++(change->bytes < 0 ? memory.releases : memory.allocations);
        memory.allocated_bytes += std::max(change->bytes, std::int64_t{0});
      }
      return highest;
    };
    std::vector<std::int64_t> levels;  // of its steps
    for (; step != steps.windows.end() && step->begin < window.end; ++step) {
      (void)advance(step->begin, false);
      const std::int64_t before = level;
      levels.push_back(advance(step->end, true));
      grown.push_back(level - before);
    }
    (void)advance(window.end, false);
    for (const std::int64_t highest : levels) {
      memory.peak_bytes = std::max(memory.peak_bytes, highest - least);
      if (steps.found) memory.levels.push_back(static_cast<double>(highest - least));
    }
  }
  if (memory.allocations + memory.releases == 0) return {};
  if (steps.found) memory.growth_bytes = growth_of(grown);
  return memory;
}

}  // namespace unstarve
