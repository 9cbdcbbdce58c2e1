// The Trainer of libtorch: translates errors and sets the device, and leaves the rest to its parts.

#include "unstarve/torch/torch_trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <ATen/DeviceAccelerator.h>
#include <fmt/format.h>

#include "unstarve/models/kernel_search.h"
#include "unstarve/models/layers.h"
#include "unstarve/models/zoo.h"
#include "unstarve/torch/common/guards.h"
#include "unstarve/torch/foreign_network.h"
#include "unstarve/torch/forward_pass.h"
#include "unstarve/torch/graphs/step_graphs.h"
#include "unstarve/torch/layer_run.h"
#include "unstarve/torch/networks/quantised_network.h"
#include "unstarve/torch/networks/starting_network.h"
#include "unstarve/torch/placement.h"
#include "unstarve/torch/ranks/exchange.h"
#include "unstarve/torch/staging.h"
#include "unstarve/torch/step_memory.h"
#include "unstarve/torch/step_timer.h"
#include "unstarve/torch/torch_device.h"
#include "unstarve/torch/training_step.h"
#include "unstarve/torch/updates/training_state.h"

namespace unstarve {
namespace {

// libtorch accepts one number per process.
void set_interop_threads(int threads) {
  if (threads == 0 || std::cmp_equal(at::get_num_interop_threads(), threads)) return;
  try {
    at::set_num_interop_threads(threads);
  } catch (const c10::Error&) {
    throw Error(ErrorKind::kArgument,
                fmt::format("interop_threads: found {}, but libtorch of this process has {}; expected the same number "
                            "for all trainers of a process",
                            threads, at::get_num_interop_threads()));
  }
}

// The network with its initial weights, on its device. `started`: null for one of the zoo.
NetworkPtr make_network(const TrainSettings& settings, NetworkPtr started, const Placement& placement,
                        bool several_ranks) {
  set_interop_threads(settings.interop_threads);
  placement.use();
  reset_peak_memory(placement.device);
  torch::manual_seed(settings.seed);
  if (settings.qat.enabled && started && dynamic_cast<GraphNetwork*>(started.get()) == nullptr)
    throw Error(ErrorKind::kArgument,
                "qat.enabled: found a Python module; expected a network of unstarve. Train "
                "without qat, then use export --int8");
  NetworkPtr network = started ? std::move(started) : find_model(settings.model).make(settings.classes);
  if (settings.qat.enabled) network = quantised_network(network, settings.image_size, settings.qat);
  for (const auto& module : network->modules()) {
    if (auto* norm = dynamic_cast<BatchNorm*>(module.get())) norm->fuse(settings.fused_batch_norm);
    if (auto* conv = dynamic_cast<Conv*>(module.get())) conv->use_winograd(settings.winograd);
  }
  network->to(placement.device);
  const torch::MemoryFormat format = placement.format;
  for (torch::Tensor& parameter : network->parameters()) {
    if (parameter.dim() != 4) continue;
    // A weight of 1 x 1 is contiguous in both formats, but its gradient has the strides of `format`. The exchange
    // compares strides and warns.
    parameter.set_data(several_ranks ? parameter.detach().clone(format) : parameter.detach().contiguous(format));
  }
  return network;
}

// A label without a class would destroy the context of a GPU.
void check_batch(const HostBatch& batch, int classes) {
  const auto wrong = std::ranges::find_if(batch.labels, [&](std::int64_t l) { return l < 0 || l >= classes; });
  if (wrong != batch.labels.end()) {
    throw Error(ErrorKind::kInput, fmt::format("loading a batch: sample {} has label {}; expected a class from 0 to {}",
                                               wrong - batch.labels.begin(), *wrong, classes - 1));
  }
  if (batch.targets.empty() || batch.targets.size() == batch.labels.size() * static_cast<std::size_t>(classes)) return;
  throw Error(ErrorKind::kArgument, fmt::format("training: found {} values of targets for {} samples; expected {} for "
                                                "each, one per class of the network",
                                                batch.targets.size(), batch.labels.size(), classes));
}

// The network as it was given to the trainer.
struct Given {
  bool foreign = false;                    // a Python module
  bool from_zoo = false;                   // made by its name
  std::optional<PrunedChannels> pruned{};  // removed before training
};

// The counts of an evaluation. They are on the device, so that adding a batch does not wait for it.
class EvaluationCounts {
 public:
  // `samples` of the next batch: whether an earlier one was larger, so that it is the last one of the data.
  [[nodiscard]] bool is_last(std::int64_t samples) {
    largest_ = std::max(largest_, samples);
    return samples < largest_;
  }
  // Before the StepMemory::Scope of a batch: the counts outlive it.
  void prepare(torch::Device device) {
    if (!counts_.defined()) counts_ = torch::zeros({kCounts}, torch::dtype(torch::kFloat64).device(device));
  }
  void add(const torch::Tensor& logits, const torch::Tensor& labels, const torch::Tensor& loss) {
    const auto samples = static_cast<double>(labels.size(0));
    counts_[kSamples].add_(samples);
    counts_[kCorrect].add_(logits.argmax(1).eq(labels).sum());
    if (logits.size(1) > kTopClasses)
      counts_[kCorrectTop5].add_(std::get<1>(logits.topk(kTopClasses, 1)).eq(labels.unsqueeze(1)).sum());
    counts_[kLoss].add_(loss.to(torch::kFloat64), samples);
  }
  // The sums over all ranks since the last call. `exchange`: null for one rank.
  [[nodiscard]] Evaluation take(Exchange* exchange) {
    std::array<double, kCounts> values{};
    if (counts_.defined()) {
      const torch::Tensor counts = counts_.cpu();
      std::copy_n(counts.const_data_ptr<double>(), kCounts, values.begin());
      counts_.reset();
    }
    if (exchange != nullptr) exchange->sum(values);
    return {std::llround(values[kSamples]), std::llround(values[kCorrect]), values[kLoss],
            std::llround(values[kCorrectTop5])};
  }

 private:
  enum Count { kSamples, kCorrect, kLoss, kCorrectTop5, kCounts };
  torch::Tensor counts_;      // kCounts, float64; undefined: nothing since the last take()
  std::int64_t largest_ = 0;  // samples of a batch
};

class TorchTrainer final : public Trainer {
 public:
  // `recorder`: replaces that of the device; null: that of the device.
  TorchTrainer(const TrainSettings& settings, const ForeignNetwork* foreign, const Ranks& ranks, StartingNetwork start,
               std::unique_ptr<StepRecorder> recorder = nullptr)
      : settings_(settings),
        given_{foreign != nullptr, foreign == nullptr && start.network == nullptr, std::move(start.pruned)},
        placement_(placement_of(settings, ranks)),
        staging_(placement_.device),
        timer_(placement_.device),
        state_(make_network(settings, foreign != nullptr ? take_network(*foreign) : std::move(start.network),
                            placement_, ranks.several()),
               foreign != nullptr ? "" : settings.model, settings, placement_.device),
        exchange_(ranks.several() ? make_exchange(ranks, network(), placement_.device) : nullptr),
        forward_(network(), placement_),
        step_(settings_, {state_, forward_, staging_, timer_, exchange_.get()}, ranks.rank,
              make_step_graphs(settings, placement_.device, why_not_recorded(settings, given_.foreign, ranks.world),
                               std::move(recorder))) {
    if (placement_.device.is_cpu()) memory_.emplace();
    if (!exchange_) return;
    exchange_->send_weights();
    state_.weights_replaced();
    if (auto* const quantised = dynamic_cast<QuantisedNetwork*>(&network()))
      quantised->synchronise(&exchange_->sum_over_ranks());
    if (!settings_.sync_batch_norm) return;
    for (const auto& module : network().modules()) {
      if (auto* layer = dynamic_cast<BatchNorm*>(module.get())) layer->synchronise(&exchange_->sum_over_ranks());
    }
  }

  void warm_up(int samples, int image_size) override {
    if (placement_.device.is_cpu() || !given_.from_zoo) return;
    translate_errors("choosing the kernels of the GPU", [&] {
      compute_on_copy(exchange_ ? std::max(samples, 2) : samples, image_size);  // its batch norm is that of one rank
      reset_peak_memory(placement_.device);
    });
  }

  void load(const HostBatch& batch) override {
    translate_errors("loading a batch", [&] {
      placement_.use();
      check_batch(batch, settings_.classes);
      staging_.load(batch);
    });
  }

  void reserve_images(std::int64_t count, Size size, const Rgb& border) override {
    translate_errors("reserving memory for images", [&] {
      placement_.use();
      staging_.images().reserve(count, size, border);
    });
  }
  void keep_images(std::int64_t first, const HostBatch& batch) override {
    translate_errors("keeping images", [&] {
      placement_.use();
      check_batch(batch, settings_.classes);
      staging_.images().keep(first, batch);
    });
  }
  std::size_t free_device_bytes() override {
    return translate_errors("reading the device's memory", [&] { return free_memory(placement_.device); });
  }

  void step(double learning_rate, bool update, const StepPosition& position) override {
    translate_errors("training step", [&] {
      placement_.use();
      const StepMemory::Scope memory_scope;
      loss_ = step_.run(learning_rate, update, position);
    });
  }

  void undo_partial_update() override {
    translate_errors("returning to the last update", [&] { step_.undo_partial_update(); });
  }

  void synchronise() override {
    if (placement_.device.is_cpu()) return;
    translate_errors("waiting for the device", [&] { at::accelerator::synchronizeDevice(placement_.device.index()); });
  }

  double loss() override {
    if (!loss_.defined()) throw Error(ErrorKind::kArgument, "training: loss requested before the first step");
    return translate_errors("reading the loss", [&] {
      const double loss = loss_.item<double>();
      return exchange_ ? exchange_->mean(loss) : loss;
    });
  }

  void enable_timing(bool on) override {
    timer_.enable(on);
    staging_.enable_timing(on);
  }

  StepTimes times() override {
    if (!timer_.enabled()) return {};
    return translate_errors("reading the step's times",
                            [&]() -> StepTimes { return timer_.times(staging_.copy_ms()); });
  }

  std::vector<StepSpan> spans() override {
    return translate_errors("reading the step's times", [&] {
      std::vector<StepSpan> result = timer_.spans();
      if (step_.exchanged() && !result.empty()) exchange_->add_spans(timer_.begin(), result);
      return result;
    });
  }

  std::string notice() override { return step_.notice(); }

  void evaluate() override {
    translate_errors("evaluation step", [&] {
      placement_.use();
      const torch::NoGradGuard no_grad;
      evaluated_.prepare(placement_.device);
      const StepMemory::Scope memory_scope;
      network().eval();
      state_.use_average(true);
      const Staging::Current& batch = staging_.current();
      std::optional<WithoutKernelSearch> last;
      if (evaluated_.is_last(batch.labels.size(0))) last.emplace();
      const torch::Tensor logits = forward_.logits(batch, settings_.test_augmentation);
      evaluated_.add(logits, batch.labels, network().loss(logits, batch.expected(), 0));
      staging_.used();
    });
  }

  Evaluation evaluate_done() override {
    return translate_errors("adding the evaluations", [&] { return evaluated_.take(exchange_.get()); });
  }

  void average_statistics() override {
    if (!exchange_) return;
    translate_errors("averaging the statistics of all ranks", [&] {
      state_.use_average(false);  // evaluate() of a rank without batches has not set it
      std::vector<torch::Tensor> statistics = state_.statistics();
      exchange_->average(statistics);
    });
  }

  std::unique_ptr<TrainSnapshot> snapshot(const TrainProgress& progress) override {
    average_statistics();
    return translate_errors("copying the state of the training", [&] { return state_.snapshot(progress); });
  }

  TrainProgress restore(const std::filesystem::path& path) override {
    return translate_errors("restoring " + path.string(), [&] {
      TrainProgress progress = state_.restore(path);
      if (exchange_) exchange_->send_weights();
      return progress;
    });
  }

  void restore(const TrainSnapshot& snapshot) override {
    translate_errors("restoring the state of the training", [&] { state_.restore(snapshot); });
  }

  LoadedWeights load_weights(const std::filesystem::path& path) override {
    return translate_errors("loading weights " + path.string(), [&] {
      LoadedWeights result = state_.load_weights(path);
      if (exchange_) exchange_->send_weights();
      return result;
    });
  }

  void end_averages() override {
    translate_errors("averaging the weights", [&] { state_.end_averages(); });
  }

  void use_average() override {
    translate_errors("averaging the weights", [&] { state_.use_average(true); });
  }

  PruneResult pruning() override {
    const Pruner* const pruner = state_.pruner();
    if (pruner == nullptr && !given_.pruned) return {};
    return translate_errors("counting pruned weights", [&]() -> PruneResult {
      state_.use_average(true);
      const FileSizes sizes = StateCopy(network_state(network()), {{"format", "pt"}}).file_sizes();
      if (pruner == nullptr) return {{}, {}, sizes.bytes, sizes.zip_bytes, given_.pruned};
      return {pruner->layers(), pruner->dense(), sizes.bytes, sizes.zip_bytes, std::nullopt};
    });
  }

  void largest_of_ranks(std::span<double> values) override {
    if (exchange_) translate_errors("agreeing with all ranks", [&] { exchange_->largest(values); });
  }
  bool reports_lost_rank() override { return !exchange_ || exchange_->first_to_fail(); }
  ExchangeTimes exchange_times() override {
    if (!exchange_) return {};
    return translate_errors("reading the times of the exchange", [&] { return exchange_->times(); });
  }

  std::size_t peak_memory_bytes() override {
    return translate_errors("reading the device's memory", [&] { return peak_memory(placement_.device); });
  }
  std::int64_t parameters() const override { return count_parameters(network()); }
  double macs() const override {
    if (given_.foreign) return 0;
    return translate_errors("counting multiply-adds", [&] { return count_macs(network(), settings_.image_size); });
  }
  std::vector<LayerShape> layer_shapes() const override {
    (void)macs();  // records the size of each layer's input
    return layer_shapes_of(network());
  }
  std::unique_ptr<LayerRun> run_layer(const LayerShape& shape, int batch) override {
    return translate_errors("creating the layer " + shape.name, [&] {
      placement_.use();
      return make_layer_run(shape, batch, placement_, settings_.winograd);
    });
  }

 private:
  [[nodiscard]] Network& network() const { return state_.network(); }

  // A forward and a backward pass of a network like that of the trainer, which does not change.
  void compute_on_copy(int samples, int image_size) const {
    const NetworkPtr copy = make_network(settings_, nullptr, placement_, /*several_ranks=*/false);
    const auto bytes = torch::dtype(torch::kUInt8).device(placement_.device);
    const Staging::Current batch{
        torch::zeros({samples, image_size, image_size, kChannels}, bytes).permute({0, 3, 1, 2}),
        torch::zeros({samples}, bytes.dtype(torch::kInt64)),
        {},
        {}};
    copy->train();
    const torch::Tensor logits = ForwardPass(*copy, placement_).logits(batch);
    copy->backward(copy->loss(logits, batch.labels, settings_.label_smoothing));
    at::accelerator::synchronizeDevice(placement_.device.index());
  }

  const TrainSettings settings_;
  const Given given_;
  Placement placement_;
  std::optional<StepMemory> memory_;  // on the CPU
  Staging staging_;
  StepTimer timer_;
  TrainingState state_;
  std::unique_ptr<Exchange> exchange_;  // null: one rank
  ForwardPass forward_;
  TrainingStep step_;
  torch::Tensor loss_;
  EvaluationCounts evaluated_;
};

}  // namespace

std::unique_ptr<Trainer> make_torch_trainer(const TrainSettings& settings, const ForeignNetwork* network,
                                            const Ranks& ranks, const StartingFile& start) {
  const std::string& name = network == nullptr ? settings.model : network->name;
  if (network != nullptr && settings.prune.channels())
    throw Error(ErrorKind::kArgument,
                fmt::format("prune.pattern: found channels for {}, a Python module; expected any or N:M. Prune "
                            "networks of unstarve by unstarve train",
                            name));
  return translate_errors("creating a trainer for " + name, [&]() -> std::unique_ptr<Trainer> {
    return std::make_unique<TorchTrainer>(settings, network, ranks, starting_network(settings, start));
  });
}

std::unique_ptr<Trainer> make_recorded_trainer(const TrainSettings& settings, std::unique_ptr<StepRecorder> recorder,
                                               const ForeignNetwork* network) {
  return std::make_unique<TorchTrainer>(settings, network, Ranks{}, StartingNetwork{}, std::move(recorder));
}

}  // namespace unstarve
