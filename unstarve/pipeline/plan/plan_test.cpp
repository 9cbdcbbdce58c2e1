#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/executor/resources.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <limits>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/spec/check_spec.h"
#include "unstarve/storage/open.h"

namespace unstarve {
namespace {

using Catch::Contains;

TEST_CASE("errors of a spec that do not depend on data name the node") {
  const auto wrong = [](auto change) {
    PipelineSpec spec;
    change(spec);
    try {
      check_spec(spec);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kArgument);
      return std::string(error.what());
    }
    return std::string("taken");
  };
  CHECK(wrong([](PipelineSpec&) {}) == "taken");
  CHECK(wrong([](PipelineSpec& s) { s.execution.threads = 5000; }) == "execution.threads: 5000; expected 0 to 1024");
  CHECK(wrong([](PipelineSpec& s) { s.execution.prefetch = -1; }) == "execution.prefetch: -1; expected 0 to 1024");
  CHECK(wrong([](PipelineSpec& s) { s.execution.read_ahead = -2; }) == "execution.read_ahead: -2; expected -1 to 1024");
  CHECK(wrong([](PipelineSpec& s) { s.batch.size = 0; }) == "batch.size: 0; expected 1 or more");
  CHECK(wrong([](PipelineSpec& s) { s.order.world = 0; }) == "order.world: 0; expected 1 or more");
  CHECK_THAT(wrong([](PipelineSpec& s) { s.order.rank = 1; }), Contains("order.rank: rank 1 of world 1"));
  CHECK_THAT(wrong([](PipelineSpec& s) { s.errors.rate = std::numeric_limits<double>::quiet_NaN(); }),
             Contains("errors.rate: nan"));
  CHECK_THAT(wrong([](PipelineSpec& s) { s.cache = {CacheWhat::kPixels, "", 0}; }), Contains("cache.limit_mb: 0"));
  CHECK_THAT(wrong([](PipelineSpec& s) { s.cache = {CacheWhat::kEncoded, "x", 1}; }), Contains("cache.folder: "));
  CHECK_THAT(wrong([](PipelineSpec& s) {
               s.operations = {{"horizontal_flip", {}}, {"swirl", {}}};
             }),
             Contains("operations[1]: unknown operation 'swirl'"));
  CHECK_THAT(wrong([](PipelineSpec& s) { s.output.normalisation.std[1] = 0; }), Contains("output.std: 0"));
}

TEST_CASE("a plan holds the size before and after each operation") {
  const auto data = open_dataset("synthetic:classes=2,images=20,size=50,seed=1");
  PipelineSpec spec;
  spec.batch.size = 10;
  spec.operations = evaluation_operations(224);
  const PlannedRun run = plan_run(spec, data, {2});
  const Plan& plan = run.plan;
  CHECK(plan.stages[0].sizes == std::vector<Size>{{50, 50}, {256, 256}, {224, 224}});
  CHECK(plan.sample_size() == plan.stages[0].sizes.back());
  CHECK_THAT(explain(run), Contains("center_crop size=224: 256x256 -> 224x224\n"));
}

TEST_CASE("planning creates no cache; opening its resources does") {
  const auto data = std::make_shared<JpegSet>(4);
  const auto folder = std::filesystem::temp_directory_path() / "unstarve-plan-test-cache";
  std::filesystem::remove_all(folder);
  PipelineSpec spec;
  spec.batch.size = 2;
  spec.operations = {{"resize", {{"size", {16, 16}}}}, {"horizontal_flip", {}}};
  spec.cache = {CacheWhat::kPixels, folder.string(), 1};
  const PlannedRun run = plan_run(spec, data, {2});
  CHECK_FALSE(std::filesystem::exists(folder));
  CHECK(find_step<CacheLookupStep>(run.plan)->operations == 1);
  const Resources resources = open_resources(run.plan, run.execution, run.data);
  CHECK(resources.pixel_cache);
  CHECK(std::filesystem::exists(folder));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace unstarve
