#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "unstarve/jobs/ladder/rung.h"

// More worker threads that read, decode and augment, up to the number of usable cores.
namespace unstarve {
namespace {

std::string not_applicable(const RungContext& context, const Settings& current) {
  if (context.machine.topology.usable() <= current.pipeline.execution.threads)
    return fmt::format("already {} thread(s) on {} usable core(s)", current.pipeline.execution.threads,
                       context.machine.topology.usable());
  return {};
}

std::vector<Candidate> candidates(const RungContext& context, const Settings& current) {
  const int usable = context.machine.topology.usable();
  std::set<int> counts{usable};
  for (int threads = current.pipeline.execution.threads * 2; threads < usable; threads *= 2) counts.insert(threads);
  std::vector<Candidate> list;
  for (int threads : counts) {
    Settings settings = current;
    settings.pipeline.execution.threads = threads;
    list.push_back({settings, fmt::format("{} -> {} threads", current.pipeline.execution.threads, threads)});
  }
  return list;
}

}  // namespace

const Rung kLoaderThreadsRung{"loader threads", false, false, not_applicable, candidates};

}  // namespace unstarve
