#include <array>

#include "unstarve/pipeline/passes/pass.h"

namespace unstarve {
namespace {

// What is known of the records first; the cache before what it needs to be decoded whole.
constexpr std::array<const Pass*, 14> kPasses{
    &kFilterBeforeDecodePass, &kFilterFusionPass,   &kDeadFieldRemovalPass,  &kInterleavePass,       &kCachePass,
    &kCropIntoResizePass,     &kCropIntoDecodePass, &kScaleIntoDecodePass,   &kResizeIntoDecodePass, &kScanIndexPass,
    &kOperationFusionPass,    &kBatchFusionPass,    &kNormaliseOnDevicePass, &kReadAheadPass};

}  // namespace

std::span<const Pass* const> passes() { return kPasses; }

bool selects_part(const Plan& plan, std::size_t operation, Size input) {
  constexpr std::uint32_t kDraws = 32;
  for (const Size size : {input, Size{2 * input.width, 2 * input.height}}) {
    for (std::uint32_t draw = 0; draw < kDraws; ++draw) {
      Random random(plan.spec.order.seed, draw, 0, static_cast<std::uint32_t>(operation));
      if (plan.operations[operation]->select(size, random) != Rect{0, 0, size.width, size.height}) return true;
    }
  }
  return false;
}

void run_passes(Plan& plan, const PassInput& input) {
  for (const Pass* pass : kPasses) {
    const auto name = std::string(pass->name);
    Decision decision{false, "switched off by passes." + name};
    if (!is_switched_off(plan.spec, pass->name))
      decision = pass->apply(plan, input);
    else if (pass->leave_out != nullptr)
      pass->leave_out(plan);
    plan.passes.push_back({name, decision.applied, pass->exact, std::move(decision.reason), pass->error});
  }
}

}  // namespace unstarve
