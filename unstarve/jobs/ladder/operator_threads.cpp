#include <fmt/format.h>

#include "unstarve/jobs/ladder/rung.h"

// Fewer threads within operators leave cores to the loader, which can help if both run on the same CPU.
namespace unstarve {
namespace {

std::string not_applicable(const RungContext& context, const Settings&) {
  if (!context.has_network()) return "no network runs on an emulated accelerator";
  if (context.target.cuda()) return "operators run on the GPU";
  if (context.machine.topology.usable() < 2) return "only one core";
  return {};
}

std::vector<Candidate> candidates(const RungContext& context, const Settings& current) {
  const int usable = context.machine.topology.usable();
  const int now = current.train.operator_threads > 0 ? current.train.operator_threads : usable;
  std::vector<Candidate> list;
  for (int threads : {usable - 1, usable / 2}) {
    if (threads < 1 || threads == now || (!list.empty() && list.back().settings.train.operator_threads == threads))
      continue;
    Settings settings = current;
    settings.train.operator_threads = threads;
    list.push_back({settings, fmt::format("{} -> {} threads", now, threads)});
  }
  return list;
}

}  // namespace

const Rung kOperatorThreadsRung{"threads within operators", false, false, not_applicable, candidates};

}  // namespace unstarve
