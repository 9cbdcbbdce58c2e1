#include "unstarve/pipeline/plan/edit.h"

#include <algorithm>

namespace unstarve {
namespace {

CacheLookupStep* cache_lookup(Plan& plan) { return const_cast<CacheLookupStep*>(find_step<CacheLookupStep>(plan)); }

}  // namespace

StepIndex index_of(const Plan& plan, const Step& step) {
  return static_cast<StepIndex>(std::find(plan.steps.begin(), plan.steps.end(), step) - plan.steps.begin());
}

void insert_step(Plan& plan, StepIndex at, const Step& step) {
  if (CacheLookupStep* const lookup = cache_lookup(plan); lookup != nullptr && lookup->on_hit >= at) ++lookup->on_hit;
  plan.steps.insert(plan.steps.begin() + at, step);
}

void erase_steps(Plan& plan, const std::function<bool(const Step&)>& condition) {
  if (CacheLookupStep* const lookup = cache_lookup(plan)) {
    const auto end = plan.steps.begin() + lookup->on_hit;
    lookup->on_hit -= static_cast<StepIndex>(std::count_if(plan.steps.begin(), end, condition));
  }
  std::erase_if(plan.steps, condition);
}

ApplyStep& apply_step(Plan& plan, OpIndex op) {
  const auto found = std::find_if(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
    const auto* const apply = std::get_if<ApplyStep>(&step);
    return apply != nullptr && apply->op == op;
  });
  return std::get<ApplyStep>(*found);
}

DecodeStep& insert_select(Plan& plan) {
  const auto decode = std::find_if(plan.steps.begin(), plan.steps.end(), [](const Step& step) {
    return std::holds_alternative<DecodeStep>(step) || std::holds_alternative<DecodeResizeStep>(step);
  });
  if (find_step<SelectStep>(plan) == nullptr) {
    insert_step(plan, static_cast<StepIndex>(decode - plan.steps.begin()), SelectStep{0});
    apply_step(plan, 0).region = OpRegion::kSelected;
  }
  return *decode_step(plan);
}

}  // namespace unstarve
