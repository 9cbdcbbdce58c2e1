#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {
namespace {

Decision apply(Plan&, const PassInput&) {
  return {true, "samples are normalised, cast and laid out straight into their place in the batch"};
}

void leave_out(Plan& plan) { plan.store_into_slot = false; }

}  // namespace

const Pass kBatchFusionPass{"batch_fusion", true, "writes samples into the batch instead of collecting them", apply,
                            leave_out};

}  // namespace unstarve
