#include "unstarve/pipeline/plan/verify.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/plan/edit.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/pipeline/spec/pass_switches.h"
#include "unstarve/pipeline/spec/spec_yaml.h"

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

// `change` applied to the plan of `spec`.
template <class Change>
std::string violation_of(const PipelineSpec& spec, const Change& change) {
  Plan plan = plan_run(spec, std::make_shared<JpegSet>(20), {2}).plan;
  REQUIRE(violation(plan).empty());
  change(plan);
  return violation(plan);
}

PipelineSpec spec_without_resize() {
  PipelineSpec spec = small_spec(7);
  spec.operations = {{"center_crop", {{"size", {48}}}}, {"center_crop", {{"size", {40}}}}};
  return spec;
}

TEST_CASE("the sizes of each stage are those that the operations return") {
  const PipelineSpec spec = small_spec(7);
  CHECK(violation_of(spec, [](Plan& plan) {
          plan.stages[0].sizes[1] = {47, 48};
        }) == "the stage from epoch 0 has sizes[1] 47x48; expected 48x48");
  CHECK(violation_of(spec, [](Plan& plan) { plan.stages[0].sizes.back().height = 1; }) ==
        "the stage from epoch 0 has sizes[2] 48x1; expected 48x48");
  CHECK_THAT(violation_of(spec, [](Plan& plan) { ++plan.facts.first.header.size.width; }),
             Catch::Contains("the stage from epoch 0 has sizes[0] "));
  PipelineSpec scheduled = spec;
  scheduled.operations =
      pipeline_from_yaml("operations: [center_crop: {size: {schedule: {0: 40, 2: 48}}}]", "test").operations;
  CHECK(violation_of(scheduled, [](Plan& plan) { plan.stages.back().sizes = plan.stages.front().sizes; }) ==
        "the stage from epoch 2 has sizes[1] 40x40; expected 48x48");
  PipelineSpec padded = spec;
  padded.operations = {{"horizontal_flip", {}}};
  padded.batch.pad.to = PadTo::kLargest;
  CHECK(violation_of(padded, [](Plan& plan) { plan.stages[0].sizes.pop_back(); }) ==
        "the stage from epoch 0 has 1 operations and 1 sizes; expected 1 and 2");
}

TEST_CASE("the program stores the type, layout and sizes of the batch") {
  const PipelineSpec spec = small_spec(7);
  const auto type = [](Plan& plan) { plan.store().format.type = ElementType::kBfloat16; };
  CHECK_THAT(violation_of(spec, type), Catch::EndsWith("stores another type than the batch has"));
  const auto bytes = [](Plan& plan) { plan.store().format.type = ElementType::kUint8; };
  CHECK(violation_of(spec, bytes) == "");  // a device normalises
  PipelineSpec half = spec;
  half.output.type = ElementType::kFloat16;
  CHECK_THAT(violation_of(half, bytes), Catch::EndsWith("stores another type than the batch has"));
  const auto layout = [](Plan& plan) { plan.store().format.layout = Layout::kNhwc; };
  CHECK_THAT(violation_of(spec, layout), Catch::EndsWith("stores another layout or normalisation than the batch has"));
  const auto padded = [](Plan& plan) { plan.store().sizes = SampleSizes::kPadded; };
  CHECK_THAT(violation_of(spec, padded), Catch::EndsWith("stores samples of several sizes"));
  PipelineSpec pad = spec_without_resize();
  pad.batch.pad = {PadTo::kSize, {64, 64}};
  const auto equal = [](Plan& plan) { plan.store().sizes = SampleSizes::kEqual; };
  CHECK_THAT(violation_of(pad, equal), Catch::EndsWith("does not pad the samples of a padded batch"));
}

TEST_CASE("only a plain resize is applied while an image is decoded, or selected through") {
  const auto into_decode = [](Plan& plan) {
    const DecodeStep decode = *decode_step(plan);
    plan.steps[index_of(plan, decode)] = DecodeResizeStep{decode, 0};
    erase_steps(plan, [](const Step& step) { return step == Step(ApplyStep{0, OpRegion::kSelected}); });
  };
  CHECK_THAT(violation_of(spec_without_resize(), into_decode),
             Catch::EndsWith("decodes into an operation that does more than resize"));
  const auto through = [](Plan& plan) {
    insert_step(plan, index_of(plan, SelectStep{0}) + 1, SelectThroughStep{1, 0});
    apply_step(plan, 1).region = OpRegion::kSelectedThrough;
  };
  CHECK_THAT(violation_of(spec_without_resize(), through),
             Catch::EndsWith("selects through an operation that does more than resize"));
}

}  // namespace
}  // namespace unstarve
