#include "unstarve/jobs/ladder/rung.h"

// One kernel that updates all parameters instead of several small ones per parameter.
namespace unstarve {
namespace {

std::string not_applicable(const RungContext& context, const Settings& current) {
  if (!context.has_network()) return "no network runs on an emulated accelerator";
  if (current.train.fused_optimiser) return "already fused";
  return {};
}

std::vector<Candidate> candidates(const RungContext&, const Settings& current) {
  Settings settings = current;
  settings.train.fused_optimiser = true;
  return {{settings, "one update per parameter -> one fused update"}};
}

}  // namespace

const Rung kFusedOptimiserRung{"fused optimiser", false, false, not_applicable, candidates};

}  // namespace unstarve
