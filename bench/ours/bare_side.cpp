// The work of the loader without the loader.
#include <deque>

#include "bench/ours/jobs.h"
#include "bench/ours/sides.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/executor/sample_program.h"
#include "unstarve/storage/open.h"

namespace unstarve::bench {
namespace {

class BareSide final : public Side {
 public:
  explicit BareSide(const Job& job)
      : threads_(job.at("cores")),
        run_(plan_run(pipeline_of(job), open_dataset(pipeline_of(job).source.path, pipeline_of(job).source.split),
                      {threads_})),
        resources_(open_resources(run_.plan, run_.execution, run_.data)) {
    for (int thread = 0; thread < threads_; ++thread)
      lanes_.push_back({SampleProgram(run_.plan, resources_), static_cast<std::uint64_t>(thread)});
    batch_ = static_cast<std::uint64_t>(run_.plan.spec.batch.size);
    // As many batches as the loader's ring holds, so that both write to as much memory.
    slots_ = batch_ * static_cast<std::uint64_t>(run_.execution.prefetch + 2);
    memory_ = allocate_pageable(slots_ * lanes_[0].program.sample_bytes());
  }

  Block run(double seconds) override {
    return run_threads(threads_, seconds, [this](int thread) {
      step(lanes_[static_cast<std::size_t>(thread)]);
      return 1;
    });
  }

  nlohmann::json check(const std::optional<std::string>&) override {
    return {{"samples_in_memory", slots_}, {"sample_bytes", lanes_[0].program.sample_bytes()}};
  }

 private:
  struct Lane {
    SampleProgram program;
    std::uint64_t position;
    StageTotals totals{};
  };

  void step(Lane& lane) {
    const std::uint64_t batch = lane.position / batch_;
    const std::uint64_t epoch = batch / run_.order.batches_per_epoch();
    const auto order = run_.order.epoch(static_cast<std::uint32_t>(epoch));
    const std::uint64_t id = order.id(batch % run_.order.batches_per_epoch(), lane.position % batch_);
    std::uint8_t* pixels = memory_->data() + lane.position % slots_ * lane.program.sample_bytes();
    (void)lane.program.make({id, static_cast<std::uint32_t>(epoch)}, lane.totals, false);
    (void)lane.program.store(pixels, lane.totals, false);
    lane.position += static_cast<std::uint64_t>(threads_);
  }

  int threads_;
  PlannedRun run_;
  Resources resources_;
  std::deque<Lane> lanes_;
  std::uint64_t batch_ = 0;
  std::uint64_t slots_ = 0;
  std::unique_ptr<Memory> memory_;
};

}  // namespace

std::unique_ptr<Side> make_bare_side(const Job& job) { return std::make_unique<BareSide>(job); }

}  // namespace unstarve::bench
