#pragma once
// A network, its optimiser and one step of training, behind an interface that needs no libtorch header and no libtorch:
// what implements it (torch/) is a module of its own, loaded by the first call here that needs it (trainer_module.h).
//
// The batch is given as the loader made it: uint8 pixels are normalised and cast on the device, float pixels are taken
// as they are. In between, nothing is slowed or sped up that the settings do not name.
//
// Threads:   one thread at a time. The number of operator threads is set for the calling thread before each call, so
//            trainers with different numbers may take turns.
// Failure:   make_trainer() throws Error(kMissing) in a build without libtorch, where the module cannot be loaded, or
//            for a device that is not there; Error(kArgument) for settings that make no sense (an unknown model lists
//            the known ones). Calls throw Error(kMemory) when memory is refused, Error(kInput) for a label that has no
//            class, Error(kInternal) with libtorch's own message for anything else.
// Memory:    no graph outlives its step; losses stay on the device until read.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "unstarve/models/catalogue.h"
#include "unstarve/ops/store/store.h"
#include "unstarve/train/settings.h"

namespace unstarve {

// A batch in host memory, borrowed: labels.size() x 3 x height x width in `format`. `pinned` speaks of the pixels only.
struct HostBatch {
  const std::uint8_t* pixels = nullptr;
  std::span<const std::int64_t> labels;
  Size size;
  StoreFormat format;  // type, layout; normalisation is applied on the device when type is kUint8
  bool pinned = false;
  // Rows of probabilities, samples x classes, that the loss is taken of instead of the labels; empty: of the labels.
  std::span<const float> targets{};
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

// How far a training run has come.
struct TrainProgress {
  std::int64_t step = 0;  // steps done
  std::string data;       // where it stands in its data: RunState::text() (pipeline/order/run_state.h); "": unknown
};

class Trainer {
 public:
  virtual ~Trainer() = default;

  // Makes a batch the current one. Its memory is borrowed until the last step() or evaluate() that uses it has
  // returned: on the host it is read where it lies, on a GPU a pinned batch is copied while the device still works on
  // the batch before. Pageable memory is copied before load() returns.
  virtual void load(const HostBatch& batch) = 0;
  // Forward, backward and optimiser step on the current batch, at this learning rate. On a GPU it returns when the work
  // is queued and the batch's host memory is no longer needed.
  virtual void step(double learning_rate) = 0;
  // Waits for the device; on the host a no-op.
  virtual void synchronise() = 0;
  // Mean loss of the latest step; waits for the device.
  [[nodiscard]] virtual double loss() = 0;
  // Parts of the latest load() and step(); zeros unless enabled.
  virtual void enable_timing(bool on) = 0;
  [[nodiscard]] virtual StepTimes times() = 0;

  // Runs the current batch in evaluation mode and adds to `result` (without label smoothing); waits for the device.
  virtual void evaluate(Evaluation& result) = 0;

  // Weights, batch-norm statistics, momentum and `progress` as safetensors; names as torchvision's state_dict.
  virtual void save(const std::filesystem::path& path, const TrainProgress& progress) = 0;
  // Restores what save() wrote (bit-equal: training goes on as if it had not stopped), or the weights alone of a plain
  // state_dict in safetensors; returns the progress (step 0 for plain weights). Throws Error(kInput) that names the
  // first tensor that is missing, unknown or of another shape; nothing has changed then.
  virtual TrainProgress restore(const std::filesystem::path& path) = 0;

  // Peak bytes held since construction: on a GPU by the caching allocator, on the host by the whole process (resident).
  // Construction resets the kernel's high-water mark; where it must not (read-only /proc), the peak is that of the
  // process's life.
  [[nodiscard]] virtual std::size_t peak_memory_bytes() = 0;
  [[nodiscard]] virtual std::int64_t parameters() const = 0;
  // Multiply-adds of one forward pass for one image.
  [[nodiscard]] virtual double macs() const = 0;
};

[[nodiscard]] std::unique_ptr<Trainer> make_trainer(const TrainSettings& settings);

// The learning rate at `step` of `total` (0-based): see TrainSettings::warmup. The first and last steps are above zero.
[[nodiscard]] double scheduled_rate(const TrainSettings& settings, std::int64_t step, std::int64_t total);

// Whether the device computes in `precision` by instructions of its own; without them it is emulated and slower.
// make_trainer() takes either. Throws Error(kMissing) for a device that is not there, Error(kArgument) for a bad name.
// What is asked of the processor does not load libtorch.
struct PrecisionSupport {
  bool supported = false;
  std::string reason;  // why not; empty when supported
};
[[nodiscard]] PrecisionSupport precision_supported(const std::string& device, Precision precision);

// Whether this build has a trainer at all: whether libtorch was there when it was made. Loads nothing.
[[nodiscard]] bool trainer_in_build() noexcept;

// The libtorch that trains, loaded to be asked. Never throws but std::bad_alloc.
struct LibtorchFacts {
  std::string version;  // "2.13.0+cpu"; empty without it
  bool cuda = false;
  std::string problem;  // why a build with a trainer cannot load it, and what mends that
};
[[nodiscard]] LibtorchFacts libtorch_facts();

// What TrainSettings::model may be; empty in a build without a trainer. Loads nothing.
[[nodiscard]] std::span<const ModelInfo> model_infos() noexcept;

}  // namespace unstarve
