#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/pipeline/plan/verify.h"
#include "unstarve/pipeline/spec/pass_switches.h"

namespace unstarve {
namespace {

// By name; the order in which they run is that of pass_switches().
constexpr std::array<const Pass*, 8> kPasses{&kCachePass,           &kCropIntoResizePass,   &kCropIntoDecodePass,
                                             &kScaleIntoDecodePass, &kResizeIntoDecodePass, &kScanIndexPass,
                                             &kOperationFusionPass, &kNormaliseOnDevicePass};

const Pass& find_pass(std::string_view name) {
  return **std::find_if(kPasses.begin(), kPasses.end(), [&](const Pass* pass) { return pass->name == name; });
}

void verify(const Plan& plan, std::string_view after) {
  if (const std::string problem = violation(plan); !problem.empty())
    throw Error(ErrorKind::kInternal, fmt::format("plan after {}: {}; expected a valid program", after, problem));
}

}  // namespace

std::span<const Pass* const> passes() { return kPasses; }

std::string why_decoding_is_fixed(const Plan& plan) {
  if (!plan.data.encoded) return "samples are stored as pixels";
  if (plan.cache.what == CacheWhat::kPixels) return "whole images are decoded once, for the cache";
  if (plan.spec.operations.empty()) return "the pipeline has no operations";
  return {};
}

bool selects_part(const Plan& plan, OpIndex operation, Size input) {
  constexpr std::uint32_t kDraws = 32;
  for (const Size size : {input, Size{2 * input.width, 2 * input.height}}) {
    for (std::uint32_t draw = 0; draw < kDraws; ++draw) {
      Random random(plan.spec.order.seed, draw, 0, operation);
      if (plan.stages[0].operations[operation]->select(size, random) != Rect{0, 0, size.width, size.height})
        return true;
    }
  }
  return false;
}

Plan run_passes(Plan plan, const RunOptions& run, const std::function<void(const Plan&, const PassNote&)>& after) {
  verify(plan, "build_plan()");
  for (const PassSwitch& info : pass_switches()) {
    const Pass& pass = find_pass(info.name);
    const bool exact = info.error.empty();
    PassNote note{std::string(info.name), false, exact, {}, info.error};
    if (!is_enabled(plan.spec, info)) {
      const bool requested = plan.spec.passes.contains(note.name);
      note.reason = exact || requested ? fmt::format("switched off by passes.{}", info.name)
                                       : fmt::format("approximate; enable it by passes: {{{}: true}}", info.name);
    } else {
      Rewrite rewrite = pass.rewrite(std::move(plan), run);
      plan = std::move(rewrite.plan);
      note.applied = rewrite.applied;
      note.reason = std::move(rewrite.reason);
      verify(plan, info.name);
    }
    plan.passes.push_back(note);
    if (after) after(plan, note);
  }
  return plan;
}

}  // namespace unstarve
