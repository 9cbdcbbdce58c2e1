#include "unstarve/pipeline/executor/sample_program.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/spec/spec_yaml.h"

namespace unstarve {
namespace {

// A plan with its resources, and one program that executes it.
struct Programmed {
  Programmed(const PipelineSpec& spec, std::shared_ptr<const Dataset> dataset)
      : run(plan_run(spec, std::move(dataset), {2})), resources(open_resources(run.plan, run.execution, run.data)) {}

  // The pixels of a sample.
  std::vector<std::uint8_t> make(std::uint64_t id, std::uint32_t draw = 0) {
    label = program.make({id, draw}, totals, false);
    std::vector<std::uint8_t> pixels(program.output_bytes());
    size = program.store(pixels.data(), totals, false);
    return pixels;
  }

  const PlannedRun run;
  const Resources resources;
  SampleProgram program{run.plan, resources};
  StageTotals totals;
  std::int64_t label = -1;
  Size size;
};

TEST_CASE("a program makes the samples that a loader delivers, in any order") {
  const auto dataset = std::make_shared<JpegSet>(30);
  const PipelineSpec spec = small_spec(1);
  const std::vector<Seen> batches = run(spec, dataset, {{}, 1});
  REQUIRE(batches.size() == 30);
  Programmed programmed(spec, dataset);
  for (auto batch = batches.rbegin(); batch != batches.rend(); ++batch) {
    CHECK(programmed.make(batch->ids[0]) == batch->pixels);
    CHECK(programmed.label == batch->labels[0]);
    CHECK(programmed.size == batch->size);
  }
  CHECK(programmed.make(7, 1) != programmed.make(7, 0));  // random operations are drawn by (sample, draw)
}

TEST_CASE("the error of a bad sample names it, and the next sample is not affected") {
  const PipelineSpec spec = small_spec(1);
  Programmed good(spec, std::make_shared<JpegSet>(10)),
      some_bad(spec, std::make_shared<JpegSet>(10, std::set<std::uint64_t>{4}));
  CHECK_THROWS_WITH(some_bad.make(4), Catch::Contains("file-4"));
  CHECK(some_bad.make(5) == good.make(5));
}

TEST_CASE("a program uses the operations of its epoch") {
  PipelineSpec spec = small_spec(1);
  spec.operations =
      pipeline_from_yaml("operations: [center_crop: {size: {schedule: {0: 24, 2: 40}}}]", "test").operations;
  Programmed programmed(spec, std::make_shared<JpegSet>(10));
  (void)programmed.make(3);
  CHECK(programmed.size == Size{24, 24});
  programmed.program.begin_epoch(2);
  (void)programmed.make(3);
  CHECK(programmed.size == Size{40, 40});
  CHECK(programmed.program.sample_bytes() == programmed.program.output_bytes());
}

TEST_CASE("a sample of another size than the batch is an error; with padding it may be smaller") {
  PipelineSpec spec = small_spec(1);
  spec.operations = {{"horizontal_flip", {}}};  // the images have different sizes
  Programmed equal(spec, std::make_shared<JpegSet>(10));
  const Size first = equal.run.plan.facts.first.header.size;
  CHECK_NOTHROW(equal.make(equal.run.plan.facts.first.id));
  CHECK(equal.size == first);
  const std::uint64_t other = equal.run.plan.facts.first.id == 0 ? 1 : 0;
  CHECK_THROWS_WITH(equal.make(other), Catch::Contains("the size of the batch"));
  spec.batch.pad = {PadTo::kSize, {120, 120}};
  Programmed padded(spec, std::make_shared<JpegSet>(10));
  CHECK_NOTHROW(padded.make(other));
  CHECK(padded.size != Size{120, 120});
}

}  // namespace
}  // namespace unstarve
