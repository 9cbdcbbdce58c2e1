#pragma once
// A network, its optimiser and one step of training, behind an interface that needs no libtorch header.
//
// The batch is given as the loader made it: uint8 pixels are normalised and cast on the device, float pixels are taken
// as they are. In between, nothing is slowed or sped up that the settings do not name.
//
// Threads:   one thread at a time.
// Failure:   make_trainer() throws Error(kMissing) in a build without libtorch or for a device that is not there,
//            Error(kArgument) for settings that make no sense (an unknown model lists the known ones).
// Memory:    no graph outlives its step; losses stay on the device until read.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/ops/store.h"
#include "unstarve/train/settings.h"

namespace unstarve {

// A batch in host memory, borrowed: `samples` x 3 x height x width in `format`.
struct HostBatch {
  const std::uint8_t* pixels = nullptr;
  std::span<const std::int64_t> labels;
  Size size;
  StoreFormat format;   // type, layout; normalisation is applied on the device when type is kUint8
  bool pinned = false;
};

// Wall time of a step's parts. On a GPU they are measured by events and only when asked for.
struct StepTimes {
  double copy_ms = 0;
  double forward_ms = 0;
  double backward_ms = 0;
  double optimiser_ms = 0;
};

struct Evaluation {
  std::int64_t samples = 0;
  std::int64_t correct = 0;
  double loss_sum = 0;
};

class Trainer {
 public:
  virtual ~Trainer() = default;

  // Brings a batch to the device and keeps it as the current one; returns when the host memory may be reused.
  virtual void load(const HostBatch& batch) = 0;
  // Forward, backward and optimiser step on the current batch, at this learning rate.
  virtual void step(double learning_rate) = 0;
  // Waits for the device; on the host a no-op.
  virtual void synchronise() = 0;
  // Mean loss of the latest step; waits for the device.
  [[nodiscard]] virtual double loss() = 0;
  // Parts of the latest load() and step(); zeros unless enabled.
  virtual void enable_timing(bool on) = 0;
  [[nodiscard]] virtual StepTimes times() = 0;

  // Runs the current batch in evaluation mode and adds to `result`.
  virtual void evaluate(Evaluation& result) = 0;

  // Weights, batch-norm statistics, momentum and `step_number` as safetensors; names as torchvision's state_dict.
  virtual void save(const std::filesystem::path& path, std::int64_t step_number) = 0;
  // Restores what save() wrote, or the weights alone of a plain state_dict in safetensors; returns the step number (0
  // for plain weights). Throws Error(kInput) that names the first tensor that is missing or of another shape.
  virtual std::int64_t restore(const std::filesystem::path& path) = 0;

  // Peak bytes held: on a GPU by the caching allocator, on the host by the process (resident) since construction.
  [[nodiscard]] virtual std::size_t peak_memory_bytes() = 0;
  [[nodiscard]] virtual std::int64_t parameters() const = 0;
  // Multiply-adds of one forward pass for one image.
  [[nodiscard]] virtual double macs() const = 0;
};

[[nodiscard]] std::unique_ptr<Trainer> make_trainer(const TrainSettings& settings);

// The learning rate at `step` of `total`: see TrainSettings::warmup.
[[nodiscard]] double scheduled_rate(const TrainSettings& settings, std::int64_t step, std::int64_t total);

// Of this build: "2.13.0+cpu", or empty without libtorch. Never throws.
[[nodiscard]] std::string libtorch_version();
[[nodiscard]] bool libtorch_has_cuda();
// Names a model setting may take, with their multiply-adds; empty without libtorch.
[[nodiscard]] std::vector<std::string> model_names();

}  // namespace unstarve
