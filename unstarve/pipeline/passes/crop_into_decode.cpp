#include <fmt/format.h>

#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/pipeline/plan/edit.h"

namespace unstarve {

Rewrite pass_crop_into_decode(Plan plan, const PassContext&) {
  if (std::string why = why_decoding_is_fixed(plan); !why.empty()) return {std::move(plan), false, std::move(why)};
  const std::string& first = plan.spec.operations[0].name;
  const auto* const through = find_step<SelectThroughStep>(plan);
  if (through == nullptr && !selects_part(plan, 0, plan.facts.first.header.size)) {
    std::string reason = first + " reads the whole image";
    return {std::move(plan), false, std::move(reason)};
  }
  std::string reason = through == nullptr ? fmt::format("decodes only the region that {} reads", first)
                                          : fmt::format("decodes only the region that {} reads for {}", first,
                                                        plan.spec.operations[through->op].name);
  insert_select(plan).region = DecodeRegion::kSelected;
  return {std::move(plan), true, std::move(reason)};
}

}  // namespace unstarve
