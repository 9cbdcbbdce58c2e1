#include <fmt/format.h>

#include <algorithm>

#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {
namespace {

Decision apply(Plan& plan, const PassInput&) {
  const auto resampling = std::count_if(plan.operations.begin(), plan.operations.end(),
                                        [](const auto& operation) { return operation->resamples(); });
  const auto moving = static_cast<std::ptrdiff_t>(plan.operations.size()) - resampling;
  if (moving == 0) return {false, "no operation crops, pads or mirrors"};
  return {true, fmt::format("{} of {} operations move no pixel, they edit the window that the next one reads", moving,
                            plan.operations.size())};
}

void leave_out(Plan& plan) { plan.fuse_operations = false; }

}  // namespace

const Pass kOperationFusionPass{"operation_fusion", true, "crops, pads and mirrors without moving pixels", apply,
                                leave_out};

}  // namespace unstarve
