#pragma once
// A recorder for the host, whose recorded steps run `work` again. Values that `work` copied when it was
// recorded stay those, as on a GPU; tensors are read at each replay.
//
// Threads: one at a time.

#include <memory>
#include <stdexcept>

#include "unstarve/torch/graphs/step_recorder.h"

namespace unstarve::testing {

// Calls so far.
struct HostRecorderCounts {
  int warm_ups = 0;
  int records = 0;
  int replays = 0;
};

class HostRecorder final : public StepRecorder {
 public:
  // `counts` outlives the recorder and its steps. `failing`: record() throws.
  explicit HostRecorder(HostRecorderCounts& counts, bool failing = false) : counts_(&counts), failing_(failing) {}

  void warm_up(const std::function<void()>& work) override {
    ++counts_->warm_ups;
    work();
  }
  std::unique_ptr<RecordedStep> record(const std::function<void()>& work) override {
    ++counts_->records;
    if (failing_) throw std::runtime_error("operation not permitted when stream is capturing");
    return std::make_unique<Step>(*counts_, work);
  }

 private:
  class Step final : public RecordedStep {
   public:
    Step(HostRecorderCounts& counts, std::function<void()> work) : counts_(&counts), work_(std::move(work)) {}
    void replay() override {
      ++counts_->replays;
      work_();
    }

   private:
    HostRecorderCounts* counts_;
    std::function<void()> work_;
  };

  HostRecorderCounts* counts_;
  bool failing_;
};

}  // namespace unstarve::testing
