// The loader's work without the loader.
#include <deque>

#include "bench/ours/jobs.h"
#include "bench/ours/sides.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/executor/sample_worker.h"
#include "unstarve/storage/open.h"

namespace unstarve::bench {
namespace {

class BareSide final : public Side {
 public:
  explicit BareSide(const Job& job)
      : threads_(job.at("cores")),
        plan_(make_plan(pipeline_of(job), open_dataset(pipeline_of(job).source.path, pipeline_of(job).source.split),
                        threads_)) {
    for (int thread = 0; thread < threads_; ++thread)
      lanes_.push_back({SampleWorker(plan_), static_cast<std::uint64_t>(thread)});
    batch_ = static_cast<std::uint64_t>(plan_.spec.batch.size);
    // As many batches as the loader's ring holds, so that both write to as much memory.
    slots_ = batch_ * static_cast<std::uint64_t>(plan_.spec.execution.prefetch + 2);
    memory_ = allocate_pageable(slots_ * lanes_[0].worker.sample_bytes());
  }

  Block run(double seconds) override {
    return run_threads(threads_, seconds, [this](int thread) {
      step(lanes_[static_cast<std::size_t>(thread)]);
      return 1;
    });
  }

  nlohmann::json check(const std::optional<std::string>&) override {
    return {{"samples_in_memory", slots_}, {"sample_bytes", lanes_[0].worker.sample_bytes()}};
  }

 private:
  struct Lane {
    SampleWorker worker;
    std::uint64_t position;
    StageTotals totals{};
  };

  void step(Lane& lane) {
    const std::uint64_t batch = lane.position / batch_;
    const std::uint64_t epoch = batch / plan_.order.batches_per_epoch();
    const auto order = plan_.order.epoch(static_cast<std::uint32_t>(epoch));
    const std::uint64_t id = order.id(batch % plan_.order.batches_per_epoch(), lane.position % batch_);
    std::uint8_t* pixels = memory_->data() + lane.position % slots_ * lane.worker.sample_bytes();
    lane.worker.run(id, static_cast<std::uint32_t>(epoch), pixels, lane.totals, false);
    lane.position += static_cast<std::uint64_t>(threads_);
  }

  int threads_;
  Plan plan_;
  std::deque<Lane> lanes_;
  std::uint64_t batch_ = 0;
  std::uint64_t slots_ = 0;
  std::unique_ptr<Memory> memory_;
};

}  // namespace

std::unique_ptr<Side> make_bare_side(const Job& job) { return std::make_unique<BareSide>(job); }

}  // namespace unstarve::bench
