#include <fmt/format.h>

#include <algorithm>

#include "unstarve/ops/base/operation.h"
#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/pipeline/plan/edit.h"

namespace unstarve {

Rewrite pass_operation_fusion(Plan plan, const PassContext&) {
  const auto& operations = plan.stages[0].operations;
  const auto lazy = std::count_if(operations.begin(), operations.end(),
                                  [](const auto& operation) { return !operation->writes_pixels(); });
  // Without lazy operations they do nothing; the program is shorter, which is not worth a note.
  erase_steps(plan, [](const Step& step) { return std::holds_alternative<MaterialiseStep>(step); });
  if (lazy == 0) return {std::move(plan), false, "no operation only crops, pads, mirrors or changes colours"};
  std::string reason = fmt::format(
      "{} of {} operations only {}; the next step that reads the pixels applies the change", lazy, operations.size(),
      lazy == 1 ? "crops, pads, mirrors or changes colours" : "crop, pad, mirror or change colours");
  return {std::move(plan), true, std::move(reason)};
}

}  // namespace unstarve
