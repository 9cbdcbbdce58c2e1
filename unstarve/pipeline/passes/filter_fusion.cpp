#include <fmt/format.h>

#include <algorithm>

#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {
namespace {

int conditions(const FilterSpec& filter) {
  return (filter.labels.empty() ? 0 : 1) + (filter.drop_labels.empty() ? 0 : 1) + (filter.min_side > 0 ? 1 : 0) +
         (filter.max_side > 0 ? 1 : 0) + (filter.max_aspect > 0 ? 1 : 0);
}

// choose_samples() did it, before the plan was made.
Decision apply(Plan& plan, const PassInput&) {
  int most = conditions(plan.spec.source.filter);
  for (const SourceSpec& source : plan.spec.mix) most = std::max(most, conditions(source.filter));
  if (most < 2) return {false, most == 0 ? "no filter" : "one condition alone"};
  return {true, fmt::format("{} conditions on a sample are decided in one visit, before any operation", most)};
}

}  // namespace

const Pass kFilterFusionPass{"filter_fusion", true,
                             "decides all conditions of a filter at once; without, each by a visit of its own", apply};

}  // namespace unstarve
