#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "unstarve/core/error.h"
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

bool is_switched_off(const PipelineSpec& spec, const Pass& pass) {
  const auto found = spec.passes.find(std::string(pass.name));
  return found != spec.passes.end() && !found->second;
}

void check_passes(const PipelineSpec& spec) {
  for (const auto& entry : spec.passes) {
    const std::string& name = entry.first;
    if (std::any_of(kPasses.begin(), kPasses.end(), [&](const Pass* pass) { return pass->name == name; })) continue;
    std::vector<std::string_view> known;
    for (const Pass* pass : kPasses) known.push_back(pass->name);
    throw Error(ErrorKind::kArgument,
                fmt::format("passes.{}: there is no such pass, expected one of {}", name, fmt::join(known, ", ")));
  }
}

void run_passes(Plan& plan, const PassInput& input) {
  for (const Pass* pass : kPasses) {
    const auto name = std::string(pass->name);
    Decision decision{false, "switched off by passes." + name};
    if (!is_switched_off(plan.spec, *pass))
      decision = pass->apply(plan, input);
    else if (pass->leave_out != nullptr)
      pass->leave_out(plan);
    plan.passes.push_back({name, decision.applied, pass->exact, std::move(decision.reason), pass->error});
  }
}

}  // namespace unstarve
