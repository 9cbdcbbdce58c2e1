#pragma once
// A batch's way from host memory to the device.
//
// On the host nothing moves: the tensors are views of the borrowed memory. On a GPU there are two device buffers and a
// stream for copies: while the device computes on one, the next batch is copied into the other, provided its host
// memory is pinned; pageable memory is copied before load() returns. Events order the two streams; the host waits for
// no computation.
// The GPU part is written against libtorch's device-generic streams and events. It has been compiled, but not run.
// Threads: one at a time.

#include <array>
#include <optional>

#include <c10/core/Event.h>
#include <torch/torch.h>

#include "unstarve/train/trainer.h"

namespace unstarve {

class Staging {
 public:
  explicit Staging(torch::Device device);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  void load(const HostBatch& batch);

  // The current batch on the device, N x 3 x H x W in the memory format it came in; the current stream waits for it.
  // Throws Error(kArgument) when nothing was loaded.
  struct Current {
    torch::Tensor pixels;
    torch::Tensor labels;
    torch::Tensor targets;  // samples x classes; undefined: there are none
    Normalisation normalisation;
  };
  [[nodiscard]] const Current& current();
  // The work queued so far on the current stream was the last use of the current batch; returns when its host memory is
  // not needed any more.
  void used();

  void enable_timing(bool on) { timing_ = on; }
  // Of the latest load(); waits for it.
  [[nodiscard]] double copy_ms();

 private:
  // What comes from ordinary memory, by way of pinned memory.
  struct SmallCopy {
    torch::Tensor device;
    torch::Tensor pinned;
  };
  struct Slot {
    torch::Tensor pixels;  // flat, in the batch's element type
    SmallCopy labels;
    SmallCopy targets;
    std::optional<c10::Event> started;  // timed
    std::optional<c10::Event> ready;
    std::optional<c10::Event> free;
  };
  torch::Tensor copy_pixels(Slot& slot, const torch::Tensor& flat, bool pinned);
  torch::Tensor copy_small(SmallCopy& copy, const torch::Tensor& flat);

  torch::Device device_;
  std::optional<c10::Stream> copies_;
  std::array<Slot, 2> slots_;
  std::size_t slot_ = 0;
  Current current_;
  bool timing_ = false;
  double host_ms_ = 0;
};

}  // namespace unstarve
