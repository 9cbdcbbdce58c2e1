#include <fmt/format.h>

#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {
namespace {

// The number of reads in flight, where the spec leaves it open.
Decision apply(Plan& plan, const PassInput&) {
  int& reads = plan.spec.execution.read_ahead;
  const bool asked = reads >= 0;
  if (!asked) reads = plan.dataset->reads_in_flight();
  if (plan.memory.limit > 0 && plan.memory.read_ahead == 0 && reads > 0) {
    reads = 0;
    return {false, "no room for it within execution.memory_limit_mb"};
  }
  if (reads == 0)
    return {false,
            asked ? "switched off by execution.read_ahead"
                  : "nothing to gain: the data lie in memory or in the page cache, or unpacking them takes longer"};
  return {true,
          fmt::format("{} records in flight, {}", reads,
                      asked ? "as asked for by execution.read_ahead" : "the data lie on a cold disk or a server")};
}

void leave_out(Plan& plan) { plan.spec.execution.read_ahead = 0; }

}  // namespace

const Pass kReadAheadPass{"read_ahead", true, "reads records before the workers ask for them", apply, leave_out};

}  // namespace unstarve
