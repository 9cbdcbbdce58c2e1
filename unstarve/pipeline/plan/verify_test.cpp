#include "unstarve/pipeline/plan/verify.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/pipeline/spec/pass_switches.h"

namespace unstarve {
namespace {

TEST_CASE("a step that reads a field before it is written, or writes one twice, is named") {
  PipelineSpec spec = small_spec(7);
  for (const PassSwitch& pass : pass_switches()) spec.passes[std::string(pass.name)] = false;
  const Plan valid = plan_run(spec, std::make_shared<JpegSet>(20), {2}).plan;
  Plan plan = valid;
  plan.steps.erase(plan.steps.begin());  // Read
  CHECK(violation(plan) == "step 0: reads the record before it is written");
  plan = valid;
  plan.steps.insert(plan.steps.begin(), plan.steps.front());
  CHECK(violation(plan) == "step 1: writes the record a second time");
  plan = valid;
  std::erase_if(plan.steps, [](const Step& step) { return std::holds_alternative<DecodeStep>(step); });
  CHECK(violation(plan) == "step 2: reads the image before it is written");
}

}  // namespace
}  // namespace unstarve
