#pragma once
// Decides for every training step whether it runs unrecorded, warms up, is recorded or is replayed (step_recorder.h).
//
//   steps of one kind:   warm-up, warm-up, warm-up, recorded and replayed, replayed, replayed, ...
//
// A kind (StepKey) is everything that a recorded step cannot change: shape and address of the batch, whether the
// weights are updated, ... Each kind has its own graph. Their number is limited: the graph that has not been used for
// the longest time is dropped for a new one, but not if it was used recently, so that data of many shapes do not record
// all the time. Further kinds then run without recording.
//
// Ownership: owns the recorder and the graphs. Threads: one at a time.
// Failure:   if recording fails, no step is recorded from then on. With GraphUse::kAuto all steps run without it and
//            notice() has the reason; with kOn, run() throws Error(kInternal).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/types.h>

#include "unstarve/torch/graphs/step_recorder.h"
#include "unstarve/train/settings.h"

namespace unstarve {

using StepKey = std::vector<std::int64_t>;

struct StepWork {
  std::function<torch::Tensor()> run;  // returns the loss; copies of it may be kept
  std::function<void()> undo;          // the effects of run() on the host, after it could not be recorded
  // Tensors that the recorded kernels read and that nothing else keeps, after run(); may be empty.
  std::function<std::vector<torch::Tensor>()> constants{};
};

struct GraphLimits {
  int warm_ups = 3;
  std::size_t graphs = 16;
  std::int64_t recent_steps = 256;  // a graph that was used within these is kept
};

// Why the steps of these settings are not recorded; empty: they are, where there is a recorder. `foreign`: the network
// is a Python module, which is recorded only with GraphUse::kOn. `world`: number of ranks.
[[nodiscard]] std::string why_not_recorded(const TrainSettings& settings, bool foreign, int world);

class StepGraphs {
 public:
  StepGraphs(std::unique_ptr<StepRecorder> recorder, GraphUse use, GraphLimits limits = {});

  // Executes one step and returns its loss, which the next step of the same kind may overwrite.
  torch::Tensor run(const StepKey& key, const StepWork& work);

  // Drops all graphs: steps warm up and are recorded again.
  void clear() { kinds_.clear(); }

  // A message for the user, once; empty: none.
  [[nodiscard]] std::string notice();

  // Steps so far.
  struct Counts {
    std::int64_t unrecorded = 0;  // including warm-ups
    std::int64_t recorded = 0;
    std::int64_t replayed = 0;  // including the first one after a recording
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] std::size_t graphs() const;

 private:
  struct Kind {
    StepKey key;
    int warm_ups = 0;
    std::int64_t used = 0;  // number of the latest step
    std::unique_ptr<RecordedStep> graph;
    std::shared_ptr<torch::Tensor> loss;
    std::vector<torch::Tensor> constants;
  };
  // Null if there is no room for a new one.
  Kind* kind_of(const StepKey& key);
  torch::Tensor run_unrecorded(const StepWork& work);
  torch::Tensor record(Kind& kind, const StepWork& work);
  torch::Tensor replay(Kind& kind);

  std::unique_ptr<StepRecorder> recorder_;  // null after a failure
  GraphUse use_;
  GraphLimits limits_;
  std::vector<Kind> kinds_;
  std::int64_t steps_ = 0;
  Counts counts_;
  std::string notice_;
};

// The graphs of a trainer, or none where steps are not recorded; on a GPU the notice then has the reason, unless the
// settings are GraphUse::kOff.
struct GraphChoice {
  std::optional<StepGraphs> graphs{};
  std::string notice{};
};
// `reason`: of why_not_recorded(). `recorder`: null for that of the device. On a GPU, cuDNN measures its kernels from
// then on, in the whole process. Throws Error(kArgument) if `settings` require graphs and steps cannot be recorded.
[[nodiscard]] GraphChoice make_step_graphs(const TrainSettings& settings, torch::Device device, std::string reason,
                                           std::unique_ptr<StepRecorder> recorder);

}  // namespace unstarve
