#include <fmt/format.h>

#include "unstarve/jobs/ladder/rung.h"

// Prefetched batches: loading and computing overlap, and stragglers are absorbed.
namespace unstarve {
namespace {

std::string not_applicable(const RungContext&, const Settings& current) {
  if (current.pipeline.execution.prefetch >= 4)
    return fmt::format("already {} prefetched batches", current.pipeline.execution.prefetch);
  return {};
}

std::vector<Candidate> candidates(const RungContext&, const Settings& current) {
  std::vector<Candidate> list;
  // Two hide a steady loader, four also one with jitter (see the M/M/1/K wait model of the tf.data autotuner).
  for (int depth : {2, 4}) {
    if (depth <= current.pipeline.execution.prefetch) continue;
    Settings settings = current;
    settings.pipeline.execution.prefetch = depth;
    list.push_back({settings, fmt::format("{} -> {} prefetched batches", current.pipeline.execution.prefetch, depth)});
  }
  return list;
}

}  // namespace

const Rung kPrefetchRung{"prefetch depth", false, false, not_applicable, candidates};

}  // namespace unstarve
