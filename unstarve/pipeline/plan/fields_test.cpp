#include "unstarve/pipeline/plan/fields.h"

#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/pipeline/plan/verify.h"
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

TEST_CASE("the fields of a batch have the types and shapes that the loader delivers") {
  PipelineSpec spec = small_spec(7);
  constexpr std::size_t kClasses = 20;
  const auto dataset = std::make_shared<JpegSet>(20, std::set<std::uint64_t>{}, kClasses);
  const auto fields = [&] { return batch_fields(plan_run(spec, dataset, {2}).plan); };
  const Size size = plan_run(spec, dataset, {2}).plan.sample_size();
  const auto height = static_cast<std::size_t>(size.height), width = static_cast<std::size_t>(size.width);
  const std::size_t batch = spec.batch.size;
  spec.output = {ElementType::kFloat32, Layout::kNchw, kImagenetNormalisation};
  REQUIRE(fields().size() == 3);
  CHECK(fields()[0].name == "image");
  CHECK(fields()[0].type == "float32");
  CHECK(fields()[0].shape == std::vector<std::size_t>{batch, 3, height, width});
  CHECK(fields()[1].shape == std::vector<std::size_t>{batch});
  spec.output = {ElementType::kUint8, Layout::kNhwc, {}};
  CHECK(fields()[0].type == "uint8");
  CHECK(fields()[0].shape == std::vector<std::size_t>{batch, height, width, 3});
  spec.batch_operations = {{"mixup", {}}};
  REQUIRE(fields().size() == 4);
  CHECK(fields()[3].name == "target");
  CHECK(fields()[3].type == "float32");
  CHECK(fields()[3].shape == std::vector<std::size_t>{batch, kClasses});
}

}  // namespace
}  // namespace unstarve
