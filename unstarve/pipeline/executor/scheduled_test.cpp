// Operations that follow a schedule: batches change between epochs, as a function of the epoch only.
#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/spec/check_spec.h"
#include "unstarve/pipeline/spec/spec_yaml.h"

namespace unstarve {
namespace {

constexpr const char* kOperations = R"(
operations:
  - random_resized_crop: {size: {schedule: {0: 24, 1: [40, 32], 3: 48}}}
  - horizontal_flip
  - rand_augment: {magnitude: {schedule: {0: 2, 4: 10}, between: linear}}
)";

PipelineSpec scheduled_spec(int threads = 3) {
  PipelineSpec spec = small_spec(6, threads);
  spec.operations = pipeline_from_yaml(kOperations, "test").operations;
  return spec;
}

// The values of these schedules in an epoch.
PipelineSpec fixed_spec(std::uint32_t epoch) {
  PipelineSpec spec = scheduled_spec();
  const OpValue size = epoch == 0 ? OpValue{24} : epoch < 3 ? OpValue{40, 32} : OpValue{48};
  spec.operations[0].params["size"] = size;
  spec.operations[2].params["magnitude"] = {static_cast<double>(2 + 2 * std::min(epoch, 4U))};
  return spec;
}

std::vector<Seen> of_epoch(const std::vector<Seen>& all, std::uint32_t epoch) {
  std::vector<Seen> some;
  for (const Seen& seen : all)
    if (seen.position.epoch == epoch) some.push_back(seen);
  return some;
}

TEST_CASE("batches change their shape between epochs and equal those of a loader of that size") {
  const auto dataset = std::make_shared<JpegSet>(40);
  const auto all = run(scheduled_spec(), dataset, {{}, 6});
  REQUIRE(all.size() == 6 * 6);
  for (std::uint32_t epoch = 0; epoch < 6; ++epoch) {
    INFO("epoch " << epoch);
    const auto seen = of_epoch(all, epoch);
    REQUIRE(seen.size() == 6);
    REQUIRE(seen[0].size == (epoch == 0 ? Size{24, 24} : epoch < 3 ? Size{32, 40} : Size{48, 48}));
    CHECK(seen == run(fixed_spec(epoch), dataset, {{epoch, 0}, 1}));
  }
}

TEST_CASE("a scheduled run is the same for any number of threads, after any resume, and in relaxed order") {
  const auto dataset = std::make_shared<JpegSet>(40);
  const auto all = run(scheduled_spec(1), dataset, {{}, 4});
  CHECK(run(scheduled_spec(4), dataset, {{}, 4}) == all);
  for (const std::size_t at : {1u, 5u, 6u, 11u, 17u, 18u, 20u})
    CHECK(run(scheduled_spec(), dataset, {all[at].position, static_cast<std::uint32_t>(4 - all[at].position.epoch)}) ==
          std::vector<Seen>(all.begin() + static_cast<std::ptrdiff_t>(at), all.end()));
  PipelineSpec relaxed = scheduled_spec(4);
  relaxed.execution.order = ExecutionOrder::kRelaxed;
  relaxed.batch.last = LastBatch::kKeep;
  const auto overtaken = run(relaxed, dataset, {{}, 4});
  REQUIRE(overtaken.size() == 4 * 7);
  for (const Seen& seen : overtaken) {
    CHECK(seen.size == of_epoch(all, seen.position.epoch).at(0).size);
    CHECK(seen.pixels.size() == seen.ids.size() * static_cast<std::size_t>(seen.size.width * seen.size.height) * 12);
  }
}

TEST_CASE("skipped, repeated and mixed samples have the size of their epoch") {
  const auto dataset = std::make_shared<JpegSet>(20, std::set<std::uint64_t>{3, 11}, 20);
  PipelineSpec spec = scheduled_spec();
  spec.errors.policy = OnError::kSkip;
  spec.batch.last = LastBatch::kPad;
  spec.batch_operations = {{"mixup", {}}, {"cutmix", {}}};
  PipelineSpec fixed = fixed_spec(0);
  fixed.errors = spec.errors;
  fixed.batch = spec.batch;
  fixed.batch_operations = spec.batch_operations;
  CHECK(of_epoch(run(spec, dataset, {{}, 4}), 0) == run(fixed, dataset, {{}, 1}));
}

TEST_CASE("batch operations follow a schedule like operations on samples, after any resume") {
  const auto dataset = std::make_shared<JpegSet>(40, std::set<std::uint64_t>{}, 40);
  PipelineSpec spec = small_spec(6);
  spec.operations = pipeline_from_yaml(kOperations, "test").operations;
  spec.batch_operations = pipeline_from_yaml(R"(
batch_operations:
  - label_smoothing: {epsilon: {schedule: {0: 0, 2: 0.2}}}
  - mixup: {alpha: {schedule: {0: 0.5, 4: 2.5}, between: linear}, probability: {schedule: {0: 1, 3: 0.5}}}
  - cutmix
)",
                                             "test")
                              .batch_operations;
  const auto all = run(spec, dataset, {{}, 6});
  REQUIRE(all.size() == 6 * 6);
  for (std::uint32_t epoch = 0; epoch < 6; ++epoch) {
    INFO("epoch " << epoch);
    PipelineSpec fixed = fixed_spec(epoch);
    fixed.batch_operations = {
        {"label_smoothing", {{"epsilon", {epoch < 2 ? 0 : 0.2}}}},
        {"mixup", {{"alpha", {0.5 + 0.5 * std::min(epoch, 4U)}}, {"probability", {epoch < 3 ? 1 : 0.5}}}},
        {"cutmix", {}}};
    const auto seen = of_epoch(all, epoch);
    CHECK(seen == run(fixed, dataset, {{epoch, 0}, 1}));
    // With another amount the batch would differ.
    fixed.batch_operations[1].params["alpha"] = {9};
    CHECK(seen != run(fixed, dataset, {{epoch, 0}, 1}));
  }
  for (const std::size_t at : {1u, 6u, 11u, 17u, 25u})
    CHECK(run(spec, dataset, {all[at].position, static_cast<std::uint32_t>(6 - all[at].position.epoch)}) ==
          std::vector<Seen>(all.begin() + static_cast<std::ptrdiff_t>(at), all.end()));
  CHECK_THAT(explain(plan_run(spec, dataset, {2})),
             Catch::Contains("label_smoothing epsilon={0: 0, 2: 0.2}") &&
                 Catch::Contains("from epoch 2: rand_augment magnitude=6; label_smoothing epsilon=0.2; "
                                 "mixup alpha=1.5; samples of 32x40"));
  // Also without other operations.
  spec.operations = small_spec(6).operations;
  PipelineSpec fixed = spec;
  fixed.batch_operations = {
      {"label_smoothing", {{"epsilon", {0.2}}}}, {"mixup", {{"alpha", {2.5}}, {"probability", {0.5}}}}, {"cutmix", {}}};
  CHECK(of_epoch(run(spec, dataset, {{}, 6}), 5) == run(fixed, dataset, {{5, 0}, 1}));
}

TEST_CASE("with padding to one size, only the images within follow the schedule") {
  const auto dataset = std::make_shared<JpegSet>(20);
  PipelineSpec spec = scheduled_spec();
  spec.batch.pad = {PadTo::kSize, {48, 50}, 7};
  for (const Seen& seen : run(spec, dataset, {{}, 4})) {
    CHECK(seen.size == Size{48, 50});
    CHECK(seen.sizes[0] == (seen.position.epoch == 0  ? PixelExtent{24, 24}
                            : seen.position.epoch < 3 ? PixelExtent{40, 32}
                                                      : PixelExtent{48, 48}));
  }
  spec.batch.pad = {PadTo::kLargest, {}, 0};
  CHECK_THROWS_WITH(run(spec, dataset, {{}, 1}),
                    Catch::Contains("batch.pad.to: largest") && Catch::Contains("epoch 1"));
  // Also if only images longer than the first one would change.
  OpValue most;
  most.schedule.points = {{0, {900}}, {2, {950}}};
  spec.operations = {{"resize", {{"size", {20}}, {"max_size", most}}}};
  CHECK_THROWS_WITH(run(spec, dataset, {{}, 1}),
                    Catch::Contains("batch.pad.to: largest") && Catch::Contains("epoch 2"));
}

TEST_CASE("the pixel cache stores no result of a scheduled operation") {
  const auto dataset = std::make_shared<JpegSet>(20);
  PipelineSpec spec = small_spec(5);
  spec.operations = pipeline_from_yaml(R"(
operations:
  - resize: {size: [60, 60]}
  - resize: {size: {schedule: {0: [20, 20], 2: [30, 30]}}}
)",
                                       "test")
                        .operations;
  PipelineSpec cached = spec;
  cached.cache.what = CacheWhat::kPixels;
  CHECK(run(cached, dataset, {{}, 3}) == run(spec, dataset, {{}, 3}));
  CHECK(find_step<CacheLookupStep>(plan_run(cached, dataset, {2}).plan)->operations == 1);
}

TEST_CASE("the plan lists every epoch from which operations change, and its slots fit the largest") {
  const auto dataset = std::make_shared<JpegSet>(20);
  const PlannedRun planned = plan_run(scheduled_spec(), dataset, {2});
  const Plan& plan = planned.plan;
  CHECK(plan.sample_size() == Size{48, 48});
  CHECK(plan.size_at(0) == Size{24, 24});
  CHECK(plan.size_at(2) == Size{32, 40});
  CHECK(plan.size_at(4'000'000'000U) == Size{48, 48});
  CHECK_THAT(explain(planned),
             Catch::Contains("random_resized_crop size={0: 24, 1: 40,32, 3: 48}") &&
                 Catch::Contains("from epoch 1: random_resized_crop size=40,32; rand_augment magnitude=4; "
                                 "samples of 32x40"));
}

TEST_CASE("a schedule in a spec is read and written, and errors name its node") {
  const auto read = [](const std::string& size) {
    PipelineSpec spec = pipeline_from_yaml("operations: [{resize: {size: " + size + "}}]", "p");
    check_spec(spec);
    return spec;
  };
  for (const char* size :
       {"{schedule: {0: 8, \"12\": [9, 7]}}", "{schedule: {0: 8}, between: linear, multiple: 1.5}"}) {
    const PipelineSpec spec = read(size);
    CHECK(pipeline_from_yaml(to_yaml(spec), "p") == spec);
  }
  CHECK(read("{schedule: {0: 8, 2: 9}}").operations[0].params["size"].schedule.points.at(2) == std::vector<double>{9});
  CHECK_THROWS_WITH(read("{schedule: {one: 8}}"),
                    Catch::Contains("p.operations[0].resize.size.schedule.one: line 1") && Catch::Contains("an epoch"));
  CHECK_THROWS_WITH(read("{schedule: {}}"), Catch::Contains("expected epochs with values"));
  CHECK_THROWS_WITH(read("{steps: {0: 1}}"), Catch::Contains("unknown key; known keys: between, multiple, schedule") ||
                                                 Catch::Contains("expected epochs with values"));
  CHECK_THROWS_WITH(read("{schedule: {0: 8}, between: cubic}"), Catch::Contains("expected one of steps, linear"));
  CHECK_THROWS_WITH(read("{schedule: {3: 8}}"), Catch::Contains("operations[0]: operation resize: parameter 'size'"));
  CHECK_THROWS_WITH(read("{schedule: {0: 8, 4: 0}}"), Catch::Contains("operations[0] in epoch 4: operation resize"));
  CHECK_THROWS_WITH(
      check_spec(pipeline_from_yaml("batch_operations: [{mixup: {alpha: {schedule: {0: 1, 7: -1}}}}]", "p")),
      Catch::Contains("batch_operations[0] in epoch 7: operation mixup: parameter 'alpha' is [-1]; expected"));
}

}  // namespace
}  // namespace unstarve
