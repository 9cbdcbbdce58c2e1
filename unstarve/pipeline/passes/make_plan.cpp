#include "unstarve/pipeline/passes/make_plan.h"

#include <fmt/format.h>

#include <array>

#include "unstarve/core/format_error.h"
#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/pipeline/plan/build_plan.h"
#include "unstarve/pipeline/plan/explain.h"
#include "unstarve/pipeline/plan/verify.h"
#include "unstarve/pipeline/spec/pass_switches.h"

namespace unstarve {
namespace {

// Conditions of a plan whose device decodes some of the files.
void check_device_decoding(const Plan& plan, const PassContext& context) {
  const auto reject = [](const std::string& what) {
    throw argument_error("{} where a device decodes. Or decode on the host.", what);
  };
  if (!plan.facts.encoded) reject(fmt::format("decode: {} stores pixels; expected encoded images", plan.facts.format));
  if (plan.spec.cache.what == CacheWhat::kPixels)
    reject(
        fmt::format("cache: pixels{}; expected encoded or nothing", context.cache_choice.empty() ? "" : ", by auto"));
  if (plan.spec.errors.policy != OnError::kFail)
    reject(fmt::format("errors.policy: {}; expected fail, because damage is detected after the batch is complete,",
                       plan.spec.errors.policy == OnError::kSkip ? "skip" : "replace"));
  if (plan.store().sizes != SampleSizes::kEqual) reject("batch.pad: samples of several sizes; expected one size");
}

// In the order of pass_switches().
constexpr std::array kPasses{
#define PASS(name, help, error) &pass_##name,
#include "unstarve/pipeline/spec/pass_table.inl"
#undef PASS
};

void verify(const Plan& plan, std::string_view after) {
  if (const std::string problem = violation(plan); !problem.empty())
    throw internal_error("plan after {}: {}; expected a valid program", after, problem);
}

Plan run_passes(Plan plan, const PassContext& context) {
  verify(plan, "build_plan()");
  for (std::size_t i = 0; i < kPasses.size(); ++i) {
    const PassSwitch& info = pass_switches()[i];
    const bool exact = info.error.empty();
    PassNote note{std::string(info.name), false, exact, {}, info.error, {}};
    if (!is_enabled(plan.spec, info)) {
      const bool requested = plan.spec.passes.contains(note.name);
      note.reason = exact || requested ? fmt::format("switched off by passes.{}", info.name)
                                       : fmt::format("approximate; enable it by passes: {{{}: true}}", info.name);
    } else {
      Rewrite rewrite = kPasses[i](std::move(plan), context);
      plan = std::move(rewrite.plan);
      note.applied = rewrite.applied;
      note.reason = std::move(rewrite.reason);
      if (note.applied) note.program = program_text(plan);
      verify(plan, info.name);
    }
    plan.passes.push_back(std::move(note));
  }
  return plan;
}

}  // namespace

MadePlan make_plan(PipelineSpec spec, DataFacts facts, const RunOptions& run, std::string_view cache_choice) {
  spec.cache = requested_cache(spec);
  Plan plan = build_plan(std::move(spec), std::move(facts), run);
  ExecutionPlan execution = resolve_execution(plan, run);
  const PassContext context{run, execution, cache_choice};
  if (plan.store().files) check_device_decoding(plan, context);
  plan = run_passes(std::move(plan), context);
  return {std::move(plan), std::move(execution)};
}

}  // namespace unstarve
