#include "unstarve/jobs/training/resume_position.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/order/sources.h"

namespace unstarve {
namespace {

using Catch::Contains;

// Some samples sleep, so that others bypass them in relaxed order.
constexpr const char* kResumeData = "sleep:ms=0,straggle_every=10,straggle_ms=5,images=120,size=8";

PipelineSpec resume_spec(int batch) {
  PipelineSpec spec;
  spec.source.path = kResumeData;
  spec.order.seed = 4;
  spec.batch = {batch, LastBatch::kKeep};
  spec.execution.threads = 3;
  return spec;
}

// A training run without a network.
struct Run {
  std::shared_ptr<const Dataset> dataset;
  std::unique_ptr<Device> device = open_device("cpu");
  ResumePosition position;
  std::unique_ptr<Loader> loader;

  explicit Run(const PipelineSpec& spec, const TrainProgress& done = {}, std::vector<EpochShare> shares = {})
      : dataset(open_sources(spec)) {
    position = resume_position_in(spec, *dataset, {choose_samples(spec, *dataset, 1), {}, std::move(shares)}, done,
                                  "a.safetensors");
    loader = std::make_unique<Loader>(position.pipeline, dataset, *device,
                                      Loader::Options{position.start, 0, false, position.basis, Consumer::kHost});
  }

  // Consumes `batches` batches and returns the ids of their samples.
  std::multiset<std::uint64_t> train(std::int64_t batches) {
    std::multiset<std::uint64_t> ids;
    for (; batches > 0; --batches) {
      const auto batch = loader->next();
      REQUIRE(batch.has_value());
      ids.insert(batch->ids().begin(), batch->ids().end());
    }
    return ids;
  }
  [[nodiscard]] TrainProgress after(std::int64_t step) const { return {step, position.state(loader->progress())}; }
};

}  // namespace

TEST_CASE("a resumed run continues with the rest of the epoch, for any batch size") {
  for (const bool relaxed : {false, true}) {
    for (const bool filtered : {false, true}) {
      for (const int batch : {8, 16, 5}) {
        CAPTURE(relaxed, filtered, batch);
        PipelineSpec spec = resume_spec(8);
        if (relaxed) spec.execution.order = ExecutionOrder::kRelaxed;
        if (filtered) spec.source.take = 100;
        Run first(spec);
        const auto samples = static_cast<std::int64_t>(first.position.basis.samples->size());
        std::multiset<std::uint64_t> ids = first.train(6);
        const TrainProgress done = first.after(6);
        spec.batch.size = batch;
        Run second(spec, done);
        CHECK(second.position.epoch_steps.full() == (samples + batch - 1) / batch);
        const std::int64_t left = (samples - 48 + batch - 1) / batch;
        CHECK(second.position.steps_of(1) == 6 + left);
        CHECK(second.position.epochs_at(6 + left) == 1);
        ids.merge(second.train(left));
        CHECK(ids.size() == static_cast<std::size_t>(samples));
        CHECK(std::set<std::uint64_t>(ids.begin(), ids.end()).size() == ids.size());
        // The next epoch is complete.
        CHECK(second.train(second.position.epoch_steps.full()).size() == static_cast<std::size_t>(samples));
      }
    }
  }
}

TEST_CASE("an unchanged run resumes with exactly the next batch") {
  Run whole(resume_spec(8));
  for (const std::int64_t step : {0, 1, 14, 15, 16, 31}) {
    CAPTURE(step);
    Run first(resume_spec(8)), again(resume_spec(8));
    (void)first.train(step);
    (void)again.train(step);
    Run second(resume_spec(8), first.after(step));
    CHECK(second.position.first_step == 0);
    CHECK(second.position.steps_of(3) == 45);
    for (int i = 0; i < 3; ++i) {
      const auto expected = again.loader->next(), found = second.loader->next();
      CHECK(std::ranges::equal(expected->ids(), found->ids()));
      CHECK(expected->epoch() == found->epoch());
    }
  }
}

TEST_CASE("a run whose first epochs have a share of the samples resumes after every batch") {
  const PipelineSpec spec = resume_spec(10);
  const std::vector<EpochShare> shares{{0, 0.25}, {1, 0.5}, {2, 1}};
  Run whole(spec, {}, shares);
  std::vector<std::multiset<std::uint64_t>> batches;
  std::vector<std::string> states;
  const std::int64_t steps = whole.position.steps_of(3.5);
  for (std::int64_t step = 0; step < steps; ++step) {
    states.push_back(whole.position.state(whole.loader->progress()));
    batches.push_back(whole.train(1));
  }
  for (std::int64_t step = 0; step < steps; ++step) {
    CAPTURE(step);
    Run resumed(spec, {step, states[static_cast<std::size_t>(step)]}, shares);
    CHECK(resumed.position.first_step == 0);
    CHECK(resumed.position.steps_of(3.5) == steps);
    for (std::int64_t next = step; next < std::min(step + 3, steps); ++next)
      CHECK(resumed.train(1) == batches[static_cast<std::size_t>(next)]);
  }
}

TEST_CASE("a resume position of other data or another order is rejected with the name of the checkpoint") {
  Run first(resume_spec(8));
  (void)first.train(2);
  const TrainProgress done = first.after(2);
  const auto error_of = [&](const auto& change) {
    PipelineSpec spec = resume_spec(8);
    change(spec);
    return testing::error_message([&] { Run(spec, done); }, ErrorKind::kArgument);
  };
  CHECK_THAT(error_of([](PipelineSpec& s) { s.order.seed = 5; }),
             Contains("resume from a.safetensors: state: seed 4, but this loader has 5"));
  CHECK_THAT(error_of([](PipelineSpec& s) { s.source.path = "synthetic:images=99,size=8"; }),
             Contains("state of other data, of 120 samples"));
  CHECK_THAT(error_of([](PipelineSpec& s) { s.source.take = 50; }),
             Contains("Continue with the data, seed, filters and order"));
}

TEST_CASE("a checkpoint without a position in the data is rejected") {
  CHECK_THAT(testing::error_message(
                 [] {
                   Run(resume_spec(8), {17, ""});
                 },
                 ErrorKind::kArgument),
             Contains("resume from a.safetensors: found 17 steps but no position in the data; expected"));
}

}  // namespace unstarve
