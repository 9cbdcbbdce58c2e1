#include <fmt/format.h>

#include <algorithm>

#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {
namespace {

Decision apply(Plan& plan, const PassInput&) {
  const auto writing = std::count_if(plan.operations.begin(), plan.operations.end(),
                                     [](const auto& operation) { return operation->writes_pixels(); });
  const auto waiting = static_cast<std::ptrdiff_t>(plan.operations.size()) - writing;
  if (waiting == 0) return {false, "no operation crops, pads, mirrors or changes colours alone"};
  return {true,
          fmt::format("{} of {} operations write no pixel, they edit the window and the colours that the next one "
                      "reads",
                      waiting, plan.operations.size())};
}

void leave_out(Plan& plan) { plan.fuse_operations = false; }

}  // namespace

const Pass kOperationFusionPass{"operation_fusion", true,
                                "crops, pads, mirrors and changes colours without writing pixels", apply, leave_out};

}  // namespace unstarve
