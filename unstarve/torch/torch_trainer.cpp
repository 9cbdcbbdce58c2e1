// The Trainer of libtorch: one class, in the order of a step.

#include "unstarve/torch/torch_trainer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <utility>

#include <ATen/DeviceAccelerator.h>
#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include "unstarve/core/random.h"
#include "unstarve/models/layers.h"
#include "unstarve/models/zoo.h"
#include "unstarve/torch/foreign_network.h"
#include "unstarve/torch/graphs/step_graphs.h"
#include "unstarve/torch/guards.h"
#include "unstarve/torch/layer_run.h"
#include "unstarve/torch/normalise.h"
#include "unstarve/torch/ranks/exchange.h"
#include "unstarve/torch/staging.h"
#include "unstarve/torch/step_memory.h"
#include "unstarve/torch/step_timer.h"
#include "unstarve/torch/torch_device.h"
#include "unstarve/torch/training_state.h"
#include "unstarve/torch/views.h"

namespace unstarve {
namespace {

class TorchTrainer final : public Trainer {
 public:
  // `recorder`: replaces that of the device; null: that of the device.
  TorchTrainer(const TrainSettings& settings, const ForeignNetwork* foreign, const Ranks& ranks,
               std::unique_ptr<StepRecorder> recorder = nullptr)
      : settings_(settings),
        foreign_(foreign != nullptr),
        rank_(ranks.rank),
        device_(device_of_rank(parse_device(settings.device), ranks)),
        threads_(settings.operator_threads > 0 ? settings.operator_threads : cores_of_rank(ranks)),
        format_(settings.channels_last ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous),
        type_(torch_type(settings.precision)),
        staging_(device_),
        timer_(device_) {
    set_interop_threads(settings.interop_threads);
    use_device();
    if (device_.is_cpu()) memory_.emplace();
    reset_peak_memory(device_);
    torch::manual_seed(settings.seed);
    NetworkPtr network = foreign_ ? take_network(*foreign) : find_model(settings.model).make(settings.classes);
    network->to(device_);
    for (torch::Tensor& parameter : network->parameters()) {
      if (parameter.dim() != 4) continue;
      // A weight of 1 x 1 is contiguous in both formats, but its gradient has the strides of `format_`. The exchange
      // compares strides and warns.
      parameter.set_data(ranks.several() ? parameter.detach().clone(format_) : parameter.detach().contiguous(format_));
    }
    prepared_ = network->prepared();
    state_.emplace(std::move(network), settings, device_);
    if (ranks.several()) join(ranks);
    record_steps(std::move(recorder));
  }

  void load(const HostBatch& batch) override {
    translate_errors("loading a batch", [&] {
      use_device();
      check_labels(batch.labels);
      check_targets(batch);
      staging_.load(batch);
    });
  }

  void step(double learning_rate, bool update, const StepPosition& position) override {
    translate_errors("training step", [&] {
      use_device();
      const StepMemory::Scope memory_scope;
      network().train();
      state_->use_average(false);
      timer_.mark(0);
      seed_step();
      freeze_whitening(settings_.whitening_epochs > 0 && position.epochs >= settings_.whitening_epochs);
      exchanged_ = exchange_ && update;
      if (exchanged_) exchange_->before_forward();
      const Staging::Current& batch = staging_.current();
      if (!prepared_) prepare_network(batch);
      // A recorded update expects that there are no gradients yet, or those that are kept between steps.
      if (graphs_ && (settings_.accumulate > 1 || (update && !state_->optimiser().has_gradients()))) {
        run_recorded(batch, learning_rate, update);
      } else {
        loss_ = compute_gradients(batch, [&](std::size_t index) { timer_.mark(index); });
        if (update)
          change_weights([&](const torch::Tensor& found_inf) { state_->optimiser().step(learning_rate, found_inf); });
      }
      // Not recorded: the decays of the averages change, and a few kernels update all tensors.
      if (update) state_->update_averages(position.share);
      graphs_ ? timer_.mark_end() : timer_.mark(3);
      staging_.used();
    });
  }

  void synchronise() override {
    if (device_.is_cpu()) return;
    translate_errors("waiting for the device", [&] { at::accelerator::synchronizeDevice(device_.index()); });
  }

  double loss() override {
    if (!loss_.defined()) throw Error(ErrorKind::kArgument, "training: loss requested before the first step");
    return translate_errors("reading the loss", [&] {
      double loss = loss_.item<double>();
      if (!exchange_) return loss;
      exchange_->sum({&loss, 1});
      return loss / world_;
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
      if (exchanged_ && !result.empty()) exchange_->add_spans(timer_.begin(), result);
      return result;
    });
  }

  std::string notice() override { return graphs_ ? graphs_->notice() : std::string(); }

  void evaluate(Evaluation& result) override {
    translate_errors("evaluation step", [&] {
      use_device();
      const StepMemory::Scope memory_scope;
      const torch::NoGradGuard no_grad;
      network().eval();
      state_->use_average(true);
      const Staging::Current& batch = staging_.current();
      const torch::Tensor logits = forward_views(batch);
      const torch::Tensor correct = logits.argmax(1).eq(batch.labels).sum();
      const torch::Tensor loss = network().loss(logits, batch.targets.defined() ? batch.targets : batch.labels, 0);
      const std::int64_t samples = batch.labels.size(0);
      staging_.used();
      result.samples += samples;
      result.correct += correct.item<std::int64_t>();
      result.loss_sum += loss.item<double>() * static_cast<double>(samples);
    });
  }

  void evaluate_done(Evaluation& result) override {
    if (!exchange_) return;
    translate_errors("adding the evaluations of all ranks", [&] {
      std::array<double, 3> values{static_cast<double>(result.samples), static_cast<double>(result.correct),
                                   result.loss_sum};
      exchange_->sum(values);
      result = {std::llround(values[0]), std::llround(values[1]), values[2]};
    });
  }

  std::unique_ptr<TrainSnapshot> snapshot(const TrainProgress& progress) override {
    return translate_errors("copying the state of the training", [&] {
      if (exchange_) exchange_->average_statistics();
      return state_->snapshot(progress, steps_);
    });
  }

  TrainProgress restore(const std::filesystem::path& path) override {
    return translate_errors("restoring " + path.string(), [&] {
      TrainProgress progress = state_->restore(path);
      prepared_ = network().prepared();
      steps_ = progress.step;
      if (exchange_) exchange_->send_weights();
      return progress;
    });
  }

  void restore(const TrainSnapshot& snapshot) override {
    translate_errors("restoring the state of the training", [&] { steps_ = state_->restore(snapshot); });
  }

  LoadedWeights load_weights(const std::filesystem::path& path) override {
    return translate_errors("loading weights " + path.string(), [&] {
      LoadedWeights result = state_->load_weights(path);
      prepared_ = network().prepared();
      if (exchange_) exchange_->send_weights();
      return result;
    });
  }

  void use_average() override {
    translate_errors("averaging the weights", [&] { state_->use_average(true); });
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
    return translate_errors("reading the device's memory", [&] { return peak_memory(device_); });
  }
  std::int64_t parameters() const override { return count_parameters(network()); }
  double macs() const override {
    if (foreign_) return 0;
    return translate_errors("counting multiply-adds", [&] { return count_macs(network(), settings_.image_size); });
  }
  std::vector<LayerShape> layer_shapes() const override {
    (void)macs();  // records the size of each layer's input
    std::vector<LayerShape> shapes;
    for (const auto& item : network().named_modules()) {
      if (const auto* const conv = dynamic_cast<const Conv*>(item.value().get())) {
        const ConvShape& of = conv->shape();
        shapes.push_back(
            {item.key(), of.in, of.out, conv->input_height(), of.kernel, of.stride, of.padding, of.groups});
      } else if (const auto* const linear = dynamic_cast<const Linear*>(item.value().get())) {
        shapes.push_back({item.key(), linear->in(), linear->out()});
      }
    }
    return shapes;
  }
  std::unique_ptr<LayerRun> run_layer(const LayerShape& shape, int batch) override {
    return translate_errors("creating the layer " + shape.name, [&] {
      use_device();
      return make_layer_run(shape, batch, {device_, type_, format_}, [this] { use_device(); });
    });
  }

 private:
  [[nodiscard]] Network& network() const { return state_->network(); }

  // The GPU "cuda" of a rank is that of its number on the machine.
  static torch::Device device_of_rank(torch::Device device, const Ranks& ranks) {
    if (device.is_cpu() || device.has_index() || !ranks.several()) return device;
    return {device.type(), static_cast<c10::DeviceIndex>(ranks.local_rank)};
  }

  void join(const Ranks& ranks) {
    world_ = ranks.world;
    exchange_ = make_exchange(ranks, network(), device_);
    exchange_->send_weights();
    state_->restart_averages();
    sum_over_ranks_ = [this](torch::Tensor& values) { exchange_->sum(values); };
    if (!settings_.sync_batch_norm) return;
    for (const auto& module : network().modules()) {
      if (auto* layer = dynamic_cast<BatchNorm*>(module.get())) layer->synchronise(&sum_over_ranks_);
    }
  }

  // libtorch accepts one number per process.
  static void set_interop_threads(int threads) {
    if (threads == 0 || at::get_num_interop_threads() == threads) return;
    try {
      at::set_num_interop_threads(threads);
    } catch (const c10::Error&) {
      throw Error(
          ErrorKind::kArgument,
          fmt::format("interop_threads: found {}, but libtorch of this process has {}; expected the same number "
                      "for all trainers of a process",
                      threads, at::get_num_interop_threads()));
    }
  }

  // OpenMP stores the number of operator threads per calling thread; changing it clears the cached kernels of oneDNN.
  void use_device() {
    if (torch::get_num_threads() != threads_) torch::set_num_threads(threads_);
    if (!device_.is_cpu()) at::accelerator::setDeviceIndex(device_.index());
  }

  // Dropout and stochastic depth draw from torch's generators. Seeded by the number of the step, so that a resumed run
  // draws the same numbers, and by the rank.
  void seed_step() {
    const auto step = static_cast<std::uint64_t>(steps_++);
    torch::manual_seed(Random(settings_.seed, static_cast<std::uint32_t>(rank_), step, kNetworkStream).bits());
  }

  // Checked here, because a label without a class destroys the context on a GPU.
  void check_targets(const HostBatch& batch) const {
    const auto classes = static_cast<std::size_t>(settings_.classes);
    if (batch.targets.empty() || batch.targets.size() == batch.labels.size() * classes) return;
    throw Error(ErrorKind::kArgument,
                fmt::format("training: found {} values of targets for {} samples, expected {} for "
                            "each, one per class of the network",
                            batch.targets.size(), batch.labels.size(), classes));
  }

  void check_labels(std::span<const std::int64_t> labels) const {
    const auto wrong =
        std::find_if(labels.begin(), labels.end(), [&](std::int64_t l) { return l < 0 || l >= settings_.classes; });
    if (wrong != labels.end()) {
      throw Error(ErrorKind::kInput,
                  fmt::format("loading a batch: sample {} has label {}, expected a class from 0 to {}",
                              wrong - labels.begin(), *wrong, settings_.classes - 1));
    }
  }

  // Before the first step of a run that starts without the fixed weights of its network. Averages of the weights begin
  // with the new ones.
  void prepare_network(const Staging::Current& batch) {
    const torch::NoGradGuard no_grad;
    network().prepare(images_of(batch).to(torch::kFloat32), exchange_ ? &sum_over_ranks_ : nullptr);
    if (exchange_) exchange_->send_weights();  // the ranks may compute with different rounding
    state_->restart_averages();
    prepared_ = true;
  }

  torch::Tensor images_of(const Staging::Current& batch) {
    if (batch.pixels.scalar_type() == torch::kUInt8) return normalise_(batch.pixels, batch.normalisation, format_);
    const torch::Tensor pixels = type_ == torch::kFloat32 ? batch.pixels.to(torch::kFloat32) : batch.pixels;
    return pixels.contiguous(format_);
  }

  // Logits in float32.
  torch::Tensor forward(const Staging::Current& batch) {
    const AutocastScope autocast(device_.type(), type_);
    return network().forward(images_of(batch)).to(torch::kFloat32);
  }

  // The mean of the logits over the views of test-time augmentation.
  torch::Tensor forward_views(const Staging::Current& batch) {
    const AutocastScope autocast(device_.type(), type_);
    return mean_logits(images_of(batch), settings_.test_augmentation, format_,
                       [&](const torch::Tensor& view) { return network().forward(view).to(torch::kFloat32); });
  }

  // With several ranks only the gradient is dropped: the exchange expects one for every parameter.
  void freeze_whitening(bool frozen) {
    torch::Tensor bias = network().whitening_bias();
    const bool was_frozen = std::exchange(frozen_, frozen && bias.defined());
    if (graphs_ && was_frozen != frozen_) forget_graphs();
    if (bias.defined() && !exchange_) bias.set_requires_grad(!frozen);
  }

  // Forward and backward pass; `mark` is called after each. Returns the loss.
  template <class Mark>
  torch::Tensor compute_gradients(const Staging::Current& batch, const Mark& mark) {
    const torch::Tensor loss = network().loss(forward(batch), batch.targets.defined() ? batch.targets : batch.labels,
                                              settings_.label_smoothing);
    mark(1);
    if (exchanged_) exchange_->before_backward();
    const torch::Tensor share = settings_.accumulate > 1 ? loss / settings_.accumulate : loss;
    const LossScaler* const scaler = state_->scaler();
    network().backward(scaler != nullptr ? scaler->scale(share) : share);
    mark(2);
    return loss.detach();
  }

  // `update(found_inf)` updates the weights by the gradients.
  template <class Update>
  void change_weights(const Update& update) {
    if (frozen_) network().whitening_bias().mutable_grad().reset();
    LossScaler* const scaler = state_->scaler();
    torch::Tensor found_inf;
    if (scaler != nullptr) found_inf = scaler->unscale(state_->optimiser().gradients());
    if (settings_.clip_norm > 0) clip_gradients(state_->optimiser().gradients(), settings_.clip_norm);
    update(found_inf);
    if (scaler != nullptr) scaler->update(found_inf);
    state_->optimiser().clear_gradients();
  }

  // Makes `graphs_` if the settings and the device permit it.
  void record_steps(std::unique_ptr<StepRecorder> recorder) {
    if (device_.is_cpu() && recorder == nullptr && settings_.graph != GraphUse::kOn) return;
    std::string reason = why_not_recorded(settings_, foreign_, world_);
    if (reason.empty() && recorder == nullptr) {
      RecorderChoice choice = make_step_recorder(device_);
      recorder = std::move(choice.recorder);
      reason = std::move(choice.reason);
    }
    if (!reason.empty()) {
      if (settings_.graph == GraphUse::kOn) {
        throw Error(ErrorKind::kArgument,
                    fmt::format("training: graph is on, but steps cannot be recorded: {}. Use graph: auto", reason));
      }
      return;
    }
    graphs_.emplace(std::move(recorder), settings_.graph);
    forget_graphs();
    // Kernels are chosen in the warm-ups, by measurement. For the whole process, as in PyTorch.
    if (!device_.is_cpu()) at::globalContext().setBenchmarkCuDNN(true);
  }

  // Steps are recorded again from now on.
  void forget_graphs() {
    graphs_->clear();
    if (settings_.accumulate > 1) state_->optimiser().keep_gradients();
  }

  void run_recorded(const Staging::Current& batch, double learning_rate, bool update) {
    state_->optimiser().set_rate(learning_rate);
    StepWork work;
    work.run = [this, batch, update] {
      const UncachedCasts uncached;
      torch::Tensor loss = compute_gradients(batch, [](std::size_t) {});
      if (update) change_weights([&](const torch::Tensor& found_inf) { state_->optimiser().step_at_rate(found_inf); });
      return loss;
    };
    work.undo = [&] {
      if (settings_.accumulate == 1) state_->optimiser().clear_gradients();
      --steps_;
      seed_step();
    };
    work.constants = [&] { return normalise_.constants(); };
    loss_ = graphs_->run(key_of(batch, update), work);
  }

  // Everything that a recorded step cannot change.
  static StepKey key_of(const Staging::Current& batch, bool update) {
    StepKey key{update};
    for (const torch::Tensor& tensor : {batch.pixels, batch.labels, batch.targets}) {
      key.push_back(tensor.defined());
      if (!tensor.defined()) continue;
      key.push_back(reinterpret_cast<std::intptr_t>(tensor.const_data_ptr()));
      key.push_back(static_cast<std::int64_t>(tensor.scalar_type()));
      key.insert(key.end(), tensor.sizes().begin(), tensor.sizes().end());
      key.insert(key.end(), tensor.strides().begin(), tensor.strides().end());
    }
    for (const auto& values : {batch.normalisation.mean, batch.normalisation.std}) {
      for (const float value : values) key.push_back(std::bit_cast<std::int32_t>(value));
    }
    return key;
  }

  TrainSettings settings_;
  bool foreign_;
  int rank_;
  std::int64_t steps_ = 0;  // done, since the beginning of the run
  torch::Device device_;
  int threads_;
  torch::MemoryFormat format_;
  torch::ScalarType type_;
  std::optional<StepMemory> memory_;  // on the CPU
  Staging staging_;
  StepTimer timer_;
  Normaliser normalise_;
  std::optional<TrainingState> state_;  // always there after construction
  bool prepared_ = false;               // Network::prepared()
  bool frozen_ = false;                 // whether the bias of the whitening layer keeps its value
  std::optional<StepGraphs> graphs_;    // of training steps; none: they are not recorded
  torch::Tensor loss_;
  int world_ = 1;
  SumOverRanks sum_over_ranks_;
  std::unique_ptr<Exchange> exchange_;  // null: one rank
  bool exchanged_ = false;              // whether the latest step exchanged gradients
};

}  // namespace

std::unique_ptr<Trainer> make_torch_trainer(const TrainSettings& settings, const ForeignNetwork* network,
                                            const Ranks& ranks) {
  const std::string& name = network == nullptr ? settings.model : network->name;
  return translate_errors("creating a trainer for " + name, [&]() -> std::unique_ptr<Trainer> {
    return std::make_unique<TorchTrainer>(settings, network, ranks);
  });
}

std::unique_ptr<Trainer> make_recorded_trainer(const TrainSettings& settings, std::unique_ptr<StepRecorder> recorder) {
  return std::make_unique<TorchTrainer>(settings, nullptr, Ranks{}, std::move(recorder));
}

}  // namespace unstarve
