#include "unstarve/pipeline/plan/edit.h"

#include <catch2/catch.hpp>
#include <memory>

#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/plan/build_plan.h"
#include "unstarve/pipeline/plan/explain.h"
#include "unstarve/pipeline/plan/verify.h"

namespace unstarve {
namespace {

// Caches the pixels after a resize, before a random flip.
Plan cached_plan() {
  PipelineSpec spec = small_spec(7);
  spec.operations = {{"resize", {{"size", {48, 48}}}}, {"horizontal_flip", {}}};
  spec.cache.what = CacheWhat::kPixels;
  Plan plan = plan_run(spec, std::make_shared<JpegSet>(20), {2}).plan;
  REQUIRE(
      program_text(plan) ==
      "CacheLookup(hit: step 6), Read, Open, Decode(whole), Apply(0 resize), CacheInsert, Apply(1 horizontal_flip), "
      "Store");
  return plan;
}

StepIndex target_of(const Plan& plan) { return find_step<CacheLookupStep>(plan)->on_hit; }

TEST_CASE("an inserted step moves the jump targets after it") {
  Plan plan = cached_plan();
  insert_step(plan, 5, MaterialiseStep{});
  CHECK(target_of(plan) == 7);
  CHECK(plan.steps[5] == Step(MaterialiseStep{}));
  CHECK(violation(plan).empty());
  insert_step(plan, 8, MaterialiseStep{});  // after the target
  CHECK(target_of(plan) == 7);
  CHECK(violation(plan).empty());
}

TEST_CASE("erased steps move the jump targets after them") {
  Plan plan = cached_plan();
  insert_step(plan, 5, MaterialiseStep{});
  insert_step(plan, 8, MaterialiseStep{});
  erase_steps(plan, [](const Step& step) { return std::holds_alternative<MaterialiseStep>(step); });
  CHECK(plan.steps == cached_plan().steps);
  erase_steps(plan, [](const Step&) { return false; });
  CHECK(plan.steps == cached_plan().steps);
}

TEST_CASE("steps are found by value and by operation") {
  Plan plan = cached_plan();
  CHECK(index_of(plan, CacheInsertStep{}) == 5);
  CHECK(index_of(plan, ApplyStep{1}) == 6);
  apply_step(plan, 1).region = OpRegion::kSelected;
  CHECK(plan.steps[6] == Step(ApplyStep{1, OpRegion::kSelected}));
}

TEST_CASE("the region of the first operation is selected once, before the image is decoded") {
  PlannedRun run = plan_run(small_spec(7), std::make_shared<JpegSet>(20), {2});
  Plan plan = build_plan(run.plan.spec, run.plan.facts, {2});
  REQUIRE(find_step<SelectStep>(plan) == nullptr);
  for (int times = 0; times < 2; ++times) {
    const DecodeStep* const decode = &insert_select(plan);
    CHECK(decode == decode_step(plan));
    CHECK(program_text(plan).starts_with("Read, Open, Select(0 random_resized_crop), Decode(whole), Apply(0"));
    CHECK(apply_step(plan, 0).region == OpRegion::kSelected);
    CHECK(violation(plan).empty());
  }
}

}  // namespace
}  // namespace unstarve
