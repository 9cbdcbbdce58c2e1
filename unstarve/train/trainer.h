#pragma once
// A network with its optimiser, and one training step. The interface needs neither libtorch nor its headers; the
// implementation (torch/) is a module that is loaded on first use (trainer_module.h).
//
// The network is one of the zoo (models/), or a foreign one, whose passes are function calls: a torch.nn.Module of
// Python.
//
// uint8 pixels are normalised and cast on the device; float pixels are used unchanged.
//
// Ranks:     with several (ranks/ranks.h), all of them make the same calls in the same order. step() with `update`,
//            loss(), evaluate_done(), snapshot(), restore() of a file, load_weights() and largest_of_ranks() wait for
//            the others.
// Threads:   one thread at a time. The number of operator threads is set for the calling thread before each call, so
//            trainers with different numbers can alternate.
// Failure:   make_trainer() throws Error(kMissing) in a build without libtorch, if the module cannot be loaded or the
//            device does not exist; Error(kArgument) for invalid settings. Calls throw Error(kMemory) if an allocation
//            fails, Error(kInput) for a label without a class, Error(kInternal) with libtorch's message otherwise.
//            With several ranks, Error(kIo) if another one has ended.
// Memory:    no graph outlives its step; losses stay on the device until they are read.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/image.h"
#include "unstarve/models/catalogue.h"
#include "unstarve/ops/store/store.h"
#include "unstarve/ranks/ranks.h"
#include "unstarve/train/pruning.h"
#include "unstarve/train/settings.h"

namespace unstarve {

// A batch in host memory, borrowed: labels.size() x 3 x height x width in `format`. `pinned` refers to the pixels only.
struct HostBatch {
  const std::uint8_t* pixels = nullptr;
  std::span<const std::int64_t> labels;
  Size size;
  StoreFormat format;  // type, layout; normalisation is applied on the device when type is kUint8
  bool pinned = false;
  // Rows of class probabilities, samples x classes, used for the loss instead of the labels; empty: use the labels.
  std::span<const float> targets{};
  // Keeps the memory valid for foreign networks, which may keep views of it; null: the memory is borrowed.
  std::shared_ptr<const void> owner{};
  std::int64_t epoch = -1;  // of its samples; -1: unknown
  // Instead of pixels: a batch of images that the trainer keeps (Trainer::keep_images()), as uint8 NHWC. For n samples
  // n numbers of images, then n x height rows, then n x width columns: pixel (x, y) of a sample is the pixel of its
  // image in its row y and its column x. The row and the column after the last ones of an image have the colour of the
  // border.
  std::span<const std::int32_t> gather{};
};

// A network whose passes are function calls. Parameters, buffers, input, output and loss are tensors of libtorch, which
// cross the boundary by operators under `number` (torch/foreign_network.h). The weights change in place.
//
// Threads: that of the trainer. Failure: exceptions pass through the trainer unchanged.
struct ForeignNetwork {
  std::string name;                // in messages
  std::int64_t number = 0;         // of new_network()
  std::function<void()> forward;   // computes the output of the input
  std::function<void()> loss;      // computes the mean loss of the output and the labels; empty: cross entropy
  std::function<void()> backward;  // computes the gradients of the loss
  std::function<void(bool)> set_training;
};

// Wall time of the parts of a step, only if enabled. On a GPU they are measured by events.
struct StepTimes {
  double copy_ms = 0;
  double forward_ms = 0;
  double backward_ms = 0;
  double optimiser_ms = 0;
  double graph_ms = 0;  // these three together, where one graph executes them, and they are 0
  double idle_ms = 0;   // GPU: from the end of the step to the begin of the next one
  [[nodiscard]] double compute_ms() const { return forward_ms + backward_ms + optimiser_ms + graph_ms; }
};

// A part of a step, for traces.
struct StepSpan {
  std::string name;       // "forward", "backward", "step" if one graph executes it, "exchange bucket 0", ...
  bool exchange = false;  // concurrent with the others
  double begin_ms = 0;    // since the begin of step()
  double end_ms = 0;
};

// The exchange of gradients between ranks.
struct ExchangeTimes {
  std::int64_t steps = 0;
  double seconds = 0;          // while at least one bucket of gradients was exchanged
  double exposed_seconds = 0;  // the part in which no backward pass was running
};

// Networks of more classes have a top-5 accuracy: the share of samples whose class is one of the 5 likeliest.
inline constexpr int kTopClasses = 5;

struct Evaluation {
  std::int64_t samples = 0;
  std::int64_t correct = 0;
  double loss_sum = 0;
  std::int64_t correct_top5 = 0;  // 0 for up to kTopClasses classes
};

// The progress of a training run.
struct TrainProgress {
  std::int64_t step = 0;  // steps done
  std::string data;       // resume state of the data: RunState::text() (pipeline/order/run_state.h); "": unknown
  // Of the images, for whoever uses the weights.
  std::optional<Normalisation> normalisation{};  // nothing: unknown
  int image_size = 0;                            // height and width at the end of the training; 0: unknown
};

// The state of a trainer, copied to host memory, so that it can be written while training continues.
class TrainSnapshot {
 public:
  virtual ~TrainSnapshot() = default;
  // Writes a safetensors file atomically (core/file.h), with a checksum. Any thread. Throws Error(kIo), and
  // Error(kCheck) if a tensor has NaN or infinity, which restore() would reject.
  virtual void write(const std::filesystem::path& path) const = 0;
};

// The result of Trainer::load_weights().
struct LoadedWeights {
  std::size_t loaded = 0;  // tensors
  std::vector<std::string>
      initialised;  // tensors of the network's head that the file has in another shape or not at all
};

// A convolution or linear layer.
struct LayerShape {
  std::string name;     // "layer1.0.conv1"
  int in = 0, out = 0;  // channels
  int side = 0;         // of the square input of a convolution; 0: a linear layer
  int kernel = 1;       // side
  int stride = 1, padding = 0, groups = 1;
  // Multiply-adds of a forward pass for one image.
  [[nodiscard]] double macs() const {
    const int outputs = side > 0 ? (side + 2 * padding - kernel) / stride + 1 : 1;  // side of the output
    return static_cast<double>(outputs * outputs) * kernel * kernel * out * in / groups;
  }
};

// One layer alone on the device of a trainer, with random inputs. It must not outlive the trainer.
class LayerRun {
 public:
  virtual ~LayerRun() = default;
  // Runs forward and backward passes for `seconds`, at least one. Returns passes per second.
  virtual double passes_per_s(double seconds) = 0;
};

// The position of a step in its run.
struct StepPosition {
  double epochs = 0;  // completed before the step
  double share = 0;   // of the run, completed with the step: 0..1
};

class Trainer {
 public:
  virtual ~Trainer() = default;

  // On a GPU, computes the passes of such a batch on a copy of the network, so that the first step() neither loads
  // libraries nor searches for kernels: that takes seconds. Otherwise, and for networks that are not of the zoo, does
  // nothing. Weights and state do not change; torch's generators are seeded and the peak of the device's memory
  // begins again. `image_size`: in pixels.
  virtual void warm_up(int samples, int image_size) {
    (void)samples;
    (void)image_size;
  }

  // Makes `batch` the current batch. Its memory is borrowed until the last step() or evaluate() that uses it has
  // returned: on the host it is read in place; on a GPU a pinned batch is copied while the device works on the previous
  // batch. Pageable memory is copied before load() returns.
  virtual void load(const HostBatch& batch) = 0;
  // Reserves memory on the device for `count` images of this size, instead of images reserved before. Throws
  // Error(kMemory) if there is too little.
  virtual void reserve_images(std::int64_t count, Size size, const Rgb& border) = 0;
  // Copies the pixels of a batch, uint8 NHWC of the reserved size, to the images from number `first` on.
  virtual void keep_images(std::int64_t first, const HostBatch& batch) = 0;
  // Free memory of a GPU; 0 on the host.
  [[nodiscard]] virtual std::size_t free_device_bytes() = 0;

  // Forward and backward pass on the current batch; with `update`, the weights are changed by the gradients of all
  // steps since the last update. On a GPU it returns when the work is queued and the batch's host memory is no longer
  // needed. The first step also computes weights that the network derives from its first batch, unless they were
  // restored or loaded. Lookahead and freezing depend on `position`.
  virtual void step(double learning_rate, bool update = true, const StepPosition& position = {}) = 0;
  // Undoes the steps since the last one with `update`: drops their gradients, and restores the statistics and the
  // number of steps. At first, the state after construction counts as an update. Only with settings.accumulate above 1.
  virtual void undo_partial_update() {}
  // Waits for the device; does nothing on the host.
  virtual void synchronise() = 0;
  // Mean loss of the latest step, over all ranks; waits for the device.
  [[nodiscard]] virtual double loss() = 0;
  // Times of the latest load() and step(); zeros unless enabled. On a GPU those of the step before, and zeros after the
  // first step: the host does not wait for the device.
  virtual void enable_timing(bool on) = 0;
  [[nodiscard]] virtual StepTimes times() = 0;
  // The parts of the latest step(); empty unless timing is enabled. Waits for the device.
  [[nodiscard]] virtual std::vector<StepSpan> spans() = 0;

  // A message for the user since the last call, for example that steps cannot be recorded as graphs; empty: none.
  [[nodiscard]] virtual std::string notice() { return {}; }

  // Replaces batch-norm statistics, and their moving averages, by their means over all ranks: before an evaluation.
  virtual void average_statistics() {}
  // Runs the current batch in evaluation mode, with the moving average if there is one, and counts (without label
  // smoothing, by the mean logits of all views). On a GPU it returns when the work is queued.
  virtual void evaluate() = 0;
  // The counts of all calls of evaluate() since the last call, over all ranks; waits for the device.
  [[nodiscard]] virtual Evaluation evaluate_done() = 0;

  // Copies weights, batch-norm statistics, the state of the optimiser and `progress`, with the names of torchvision's
  // state_dict. With a moving average, those names refer to the averages and "training.<name>" to the weights.
  // Precondition: the last step was with `update`. Waits for the device. Batch-norm statistics become their means over
  // all ranks.
  [[nodiscard]] virtual std::unique_ptr<TrainSnapshot> snapshot(const TrainProgress& progress) = 0;
  void save(const std::filesystem::path& path, const TrainProgress& progress) { snapshot(progress)->write(path); }
  // Restores a file of snapshot() (training continues bit-equal), or only the weights of a plain state_dict in
  // safetensors. Returns the progress (step 0 for plain weights). Throws Error(kInput) with the first tensor that is
  // missing, unknown or of another shape, and for a wrong checksum, and changes nothing.
  virtual TrainProgress restore(const std::filesystem::path& path) = 0;
  // Restores a snapshot of this trainer, bit-equal, with the state of the random numbers that dropout draws; discards
  // gradients that were not used for an update. Throws Error(kArgument) for the snapshot of another trainer.
  virtual void restore(const TrainSnapshot& snapshot) = 0;
  // Loads the weights of a state_dict or a checkpoint, possibly of another number of classes: the last linear layer of
  // the network keeps its initial weights if it does not fit. All other tensors must fit, as in restore(); the state of
  // the optimiser is reset.
  virtual LoadedWeights load_weights(const std::filesystem::path& path) = 0;

  // Gives the network the slow weights of lookahead, if there are any. For the end of a run whose last step had a share
  // below 1, so that step() did not.
  virtual void end_averages() {}

  // Gives the network the moving average of the weights, if there is one, until the next step().
  virtual void use_average() {}

  // What is pruned in the weights for use, i.e. in their average if there is one; empty without pruning. Compresses the
  // weights, which takes seconds for large networks. Does not wait for other ranks.
  [[nodiscard]] virtual PruneResult pruning() { return {}; }

  // Replaces each value by its maximum over all ranks.
  virtual void largest_of_ranks(std::span<double> values) = 0;
  // After an exchange failed: whether this rank is the first to ask, and therefore reports the failure.
  [[nodiscard]] virtual bool reports_lost_rank() = 0;
  // Since construction; zeros for one rank.
  [[nodiscard]] virtual ExchangeTimes exchange_times() = 0;

  // Peak memory since construction: of the caching allocator on a GPU, resident memory of the process on the host.
  // Construction resets the kernel's high-water mark; with a read-only /proc it is the peak since process start.
  [[nodiscard]] virtual std::size_t peak_memory_bytes() = 0;
  [[nodiscard]] virtual std::int64_t parameters() const = 0;
  // Multiply-adds of one forward pass for one image; 0 for a foreign network.
  [[nodiscard]] virtual double macs() const = 0;
  // Convolutions and linear layers, in the order of the network.
  [[nodiscard]] virtual std::vector<LayerShape> layer_shapes() const = 0;
  // A new layer of that shape, in the precision and memory format of training. Draws random numbers, as dropout does.
  [[nodiscard]] virtual std::unique_ptr<LayerRun> run_layer(const LayerShape& shape, int batch) = 0;
};

// A checkpoint or weights from which training will begin.
struct StartingFile {
  std::filesystem::path path{};  // "": none
  bool resumes = false;          // by restore(); otherwise by load_weights()
};

// `ranks`: join_ranks(). All ranks have the same settings. A GPU without a number is that of the local rank.
// `start`: if the file contains the structure of its network, the trainer has that network, else settings.model.
// With settings.prune.channels() and a file that does not resume, the trainer has the network and the weights of the
// file without the pruned channels, and load_weights() must not be called; Error(kInput) or Error(kArgument) if that is
// impossible.
[[nodiscard]] std::unique_ptr<Trainer> make_trainer(const TrainSettings& settings, const Ranks& ranks = {},
                                                    const StartingFile& start = {});
// A trainer of a foreign network; the settings model, image_size and sync_batch_norm are not used.
[[nodiscard]] std::unique_ptr<Trainer> make_trainer(const TrainSettings& settings, const ForeignNetwork& network,
                                                    const Ranks& ranks = {});
// Registers the operators of foreign networks (torch/foreign_network.h) with libtorch, which it loads.
void register_network_operators();

// Whether the device has instructions for `precision`; otherwise it is emulated and slower, but accepted by
// make_trainer(). Throws Error(kMissing) if the device does not exist, Error(kArgument) for an invalid name. Does not
// load libtorch for the CPU.
struct PrecisionSupport {
  bool supported = false;
  std::string reason;  // why not; empty when supported
};
[[nodiscard]] PrecisionSupport precision_supported(const std::string& device, Precision precision);

// Whether this build has a trainer, i.e. was built with libtorch. Loads nothing.
[[nodiscard]] bool trainer_in_build() noexcept;

// The libtorch in use; loads it. Throws only std::bad_alloc.
struct LibtorchFacts {
  std::string version;  // "2.13.0+cpu"; empty without it
  bool cuda = false;
  std::string problem;  // why libtorch cannot be loaded, and how to fix it
  std::string cpu;      // instruction sets of its operators on this CPU: "AVX512", "AVX2", "DEFAULT", ...
};
[[nodiscard]] LibtorchFacts libtorch_facts();

// The valid values of TrainSettings::model; empty in a build without a trainer. Loads nothing.
[[nodiscard]] std::span<const ModelInfo> model_infos() noexcept;

}  // namespace unstarve
