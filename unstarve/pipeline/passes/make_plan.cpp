#include "unstarve/pipeline/passes/make_plan.h"

#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/plan/build_plan.h"
#include "unstarve/pipeline/spec/pass_switches.h"

namespace unstarve {
namespace {

// Conditions of a plan whose device decodes some of the files.
void check_device_decoding(const Plan& plan) {
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorKind::kArgument, what + " where a device decodes. Or decode on the host.");
  };
  if (!plan.data.encoded) refuse(fmt::format("decode: {} stores pixels; expected encoded images", plan.data.format));
  if (plan.spec.cache.what == CacheWhat::kPixels)
    refuse(fmt::format("cache: pixels{}; expected encoded or nothing", plan.cache_choice.empty() ? "" : ", by auto"));
  if (plan.spec.errors.policy != OnError::kFail)
    refuse(fmt::format("errors.policy: {}; expected fail, because damage is detected after the batch is complete,",
                       plan.spec.errors.policy == OnError::kSkip ? "skip" : "replace"));
  if (plan.padded() || plan.any_size) refuse("batch.pad: samples of several sizes; expected one size");
}

}  // namespace

Plan make_plan(PipelineSpec spec, DataFacts facts, const RunOptions& run, std::string cache_choice) {
  if (!is_enabled(spec, "cache")) spec.cache = {};
  Plan plan = build_plan(std::move(spec), std::move(facts), run);
  plan.cache_choice = std::move(cache_choice);
  if (plan.delivers_files) check_device_decoding(plan);
  return run_passes(std::move(plan), run);
}

}  // namespace unstarve
