#pragma once
// Copies batches from host memory to the device.
//
// On the host nothing is copied: the tensors are views of the borrowed memory. On a GPU there are two device buffers
// and a copy stream: while the device computes on one buffer, the next batch is copied into the other if its host
// memory is pinned. Pageable memory is copied before load() returns. Events order the two streams; the host does not
// wait for computations.
// Batches of images that are kept on the device (kept_images.h) are gathered there into the same buffers, on the host
// into one buffer.
// The GPU part uses libtorch's device-generic streams and events.
// Threads: one at a time.

#include <array>
#include <optional>

#include <c10/core/Event.h>
#include <torch/types.h>

#include "unstarve/torch/kept_images.h"
#include "unstarve/train/trainer.h"

namespace unstarve {

class Staging {
 public:
  explicit Staging(torch::Device device);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  void load(const HostBatch& batch);
  [[nodiscard]] KeptImages& images() { return images_; }

  // The current batch on the device, N x 3 x H x W in its original memory format; the current stream waits for it.
  // Throws Error(kArgument) if nothing was loaded.
  struct Current {
    torch::Tensor pixels;
    torch::Tensor labels;
    torch::Tensor targets;  // samples x classes; undefined: no targets
    Normalisation normalisation;
    // What the loss compares the logits with.
    [[nodiscard]] const torch::Tensor& expected() const { return targets.defined() ? targets : labels; }
  };
  [[nodiscard]] const Current& current();
  // Declares the work queued on the current stream to be the last use of the current batch. Returns when the host
  // memory of the batch is no longer needed.
  void used();

  void enable_timing(bool on) { timing_ = on; }
  // Copy time of the latest load(); waits for the copy.
  [[nodiscard]] double copy_ms();

 private:
  // Labels, targets and numbers to gather by: copied from pageable memory via pinned memory.
  struct SmallCopy {
    torch::Tensor device;
    torch::Tensor pinned;
  };
  struct Slot {
    torch::Tensor pixels;  // flat, in the batch's element type
    SmallCopy labels;
    SmallCopy targets;
    SmallCopy gather;
    std::optional<c10::Event> started;  // timed
    std::optional<c10::Event> ready;
    std::optional<c10::Event> free;
  };
  torch::Tensor memory_for(Slot& slot, std::int64_t elements, torch::ScalarType type);
  torch::Tensor gather(Slot& slot, const HostBatch& batch, const torch::Tensor& numbers);
  torch::Tensor copy_small(SmallCopy& copy, const torch::Tensor& flat);

  torch::Device device_;
  KeptImages images_;
  std::optional<c10::Stream> copies_;
  std::array<Slot, 2> slots_;
  std::size_t slot_ = 0;
  Current current_;
  bool timing_ = false;
  double host_ms_ = 0;
};

}  // namespace unstarve
