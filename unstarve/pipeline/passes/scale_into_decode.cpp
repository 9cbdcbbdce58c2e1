#include "unstarve/ops/base/operation.h"
#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/pipeline/plan/edit.h"

namespace unstarve {

Rewrite pass_scale_into_decode(Plan plan, const PassContext&) {
  if (std::string why = why_decoding_is_fixed(plan); !why.empty()) return {std::move(plan), false, std::move(why)};
  if (!plan.stages[0].operations[0]->resamples())
    return {std::move(plan), false, "the first operation does not resample"};
  insert_select(plan).reduction = Reduction::kAllowed;
  for (Step& step : plan.steps)
    if (auto* const through = std::get_if<SelectThroughStep>(&step)) through->reduction = Reduction::kAllowed;
  return {std::move(plan), true, "decodes JPEG at 1/2, 1/4 or 1/8 where the result is at least as large as the target"};
}

}  // namespace unstarve
