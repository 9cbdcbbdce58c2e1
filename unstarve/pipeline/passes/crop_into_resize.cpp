#include <fmt/format.h>

#include "unstarve/ops/base/operation.h"
#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/pipeline/plan/edit.h"

namespace unstarve {

Rewrite pass_crop_into_resize(Plan plan, const PassContext&) {
  if (std::string why = why_decoding_is_fixed(plan); !why.empty()) return {std::move(plan), false, std::move(why)};
  if (plan.spec.operations.size() < 2) return {std::move(plan), false, "no operation follows a resize"};
  if (!only_resizes(plan)) return {std::move(plan), false, "the first operation is not a plain resize"};
  const Operation& first = *plan.stages[0].operations[0];
  const std::string &resize = plan.spec.operations[0].name, &crop = plan.spec.operations[1].name;
  Random random(plan.spec.order.seed, 0, 0, 0);
  const Size resized = first.output_size(first.select(plan.facts.first.header.size, random).size());
  if (!selects_part(plan, 1, resized)) {
    std::string reason = fmt::format("{} reads the whole output of {}", crop, resize);
    return {std::move(plan), false, std::move(reason)};
  }
  std::string reason = fmt::format("{} computes only the pixels that {} reads", resize, crop);
  (void)insert_select(plan);
  insert_step(plan, index_of(plan, SelectStep{0}) + 1, SelectThroughStep{1, 0});
  apply_step(plan, 1).region = OpRegion::kSelectedThrough;
  return {std::move(plan), true, std::move(reason)};
}

}  // namespace unstarve
