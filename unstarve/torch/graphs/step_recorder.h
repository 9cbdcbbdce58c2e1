#pragma once
// Records the device's part of a training step, so that one call of the driver launches all its kernels: a CUDA graph.
//
//   recorder ──record(work)──▶ RecordedStep ──replay()──▶ the kernels of `work`, at the same addresses
//
// While `work` is recorded, its host code runs and its kernels are only noted. A recorded step therefore repeats the
// kernels with the values that the host had then; what changes between steps must be read from device memory.
// Implemented by ../cuda/cuda_recorder.cpp; in builds against a CPU package of libtorch by recorder_absent.cpp, through
// the device-generic interface of libtorch 2.13 and later, which has been compiled, but not run.
//
// Memory:    the steps of a recorder share a memory pool. Tensors that `work` returns stay valid; a replay overwrites
//            them.
// Threads:   one thread at a time. Other threads may use the device and allocate pinned memory meanwhile.
// Failure:   record() passes on the exceptions of `work` and of the driver. It leaves the device usable, but nothing
//            more should be recorded.

#include <functional>
#include <memory>
#include <string>

#include <torch/types.h>

namespace unstarve {

class RecordedStep {
 public:
  virtual ~RecordedStep() = default;
  // Queues the kernels on the current stream. Random numbers are those of the generator's present seed.
  virtual void replay() = 0;
};

class StepRecorder {
 public:
  virtual ~StepRecorder() = default;
  // Runs `work` where it will be recorded: libraries choose their algorithms and allocate their workspaces. Waits for
  // the device before and after.
  virtual void warm_up(const std::function<void()>& work) = 0;
  // Waits for the device. `work` may be copied.
  [[nodiscard]] virtual std::unique_ptr<RecordedStep> record(const std::function<void()>& work) = 0;
};

// A recorder, or the reason why there is none. CUDA initialises when it is made.
struct RecorderChoice {
  std::unique_ptr<StepRecorder> recorder{};
  std::string reason{};
};
[[nodiscard]] RecorderChoice make_step_recorder(torch::Device device);

}  // namespace unstarve
