#include <fmt/format.h>

#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {
namespace {

// How many reads tuning may begin with where none are in flight at the start. In relaxed order samples get their
// numbers where they are read, and a memory limit is divided before anything runs: both have them from the start or
// never.
int could_begin(const Plan& plan) {
  const bool exact = plan.spec.execution.order == ExecutionOrder::kExact;
  return exact && plan.memory.limit == 0 ? plan.dataset->most_reads_in_flight() : 0;
}

// The number of reads in flight, where the spec leaves it open.
Decision apply(Plan& plan, const PassInput&) {
  int& reads = plan.spec.execution.read_ahead;
  const bool asked = reads >= 0;
  if (!asked) reads = plan.dataset->reads_in_flight();
  if (plan.memory.limit > 0 && plan.memory.read_ahead == 0 && reads > 0) {
    reads = 0;
    return {false, "no room for it within execution.memory_limit_mb"};
  }
  if (plan.reads_tuned) plan.most_read_ahead = reads > 0 ? reads : could_begin(plan);
  if (reads == 0) {
    if (asked) return {false, "switched off by execution.read_ahead"};
    std::string reason = "nothing to gain: the data lie in memory or in the page cache, or unpacking them takes longer";
    if (plan.most_read_ahead > 0) reason += "; begun while it runs if reads make the threads wait";
    return {false, reason};
  }
  return {true, fmt::format("{} records in flight, {}{}", reads,
                            asked ? "as asked for by execution.read_ahead" : "the data lie on a cold disk or a server",
                            plan.reads_tuned ? "; to begin with, tuned while it runs" : "")};
}

void leave_out(Plan& plan) { plan.spec.execution.read_ahead = 0; }

}  // namespace

const Pass kReadAheadPass{"read_ahead", true, "reads records before the workers ask for them", apply, leave_out};

}  // namespace unstarve
