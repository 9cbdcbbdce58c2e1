// The Trainer of libtorch: one class, in the order of a step.

#include "unstarve/torch/torch_trainer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <ATen/DeviceAccelerator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <fmt/format.h>

#include "unstarve/core/file.h"
#include "unstarve/core/topology.h"
#include "unstarve/models/layers.h"
#include "unstarve/models/weights.h"
#include "unstarve/models/zoo.h"
#include "unstarve/torch/guards.h"
#include "unstarve/torch/loss_scaler.h"
#include "unstarve/torch/normalise.h"
#include "unstarve/torch/optimiser.h"
#include "unstarve/torch/staging.h"
#include "unstarve/torch/torch_device.h"
#include "unstarve/torch/weight_average.h"

namespace unstarve {
namespace {

constexpr const char* kStepKey = "unstarve.step";
constexpr const char* kDataKey = "unstarve.data";
constexpr const char* kOptimiserKey = "unstarve.optimiser";
constexpr const char* kWeightsPrefix = "training.";  // of the weights if the plain names refer to their average
constexpr const char* kAverageUpdates = "average.updates";
constexpr const char* kScaleName = "loss_scaler.scale";
constexpr const char* kGoodStepsName = "loss_scaler.good_steps";

// Time marks on the host clock or, by events, on the device.
class StepTimer {
 public:
  static constexpr std::size_t kMarks = 4;  // begin, forward done, backward done, optimiser done

  explicit StepTimer(torch::Device device) : device_(device) {
    if (device.is_cpu()) return;
    for (auto& event : events_) event.emplace(device.type(), c10::EventFlag::BACKEND_DEFAULT);
  }
  void enable(bool on) { on_ = on; }
  [[nodiscard]] bool enabled() const { return on_; }
  void mark(std::size_t index) {
    if (!on_) return;
    if (device_.is_cpu()) {
      times_[index] = std::chrono::steady_clock::now();
    } else {
      events_[index]->record(at::accelerator::getCurrentStream(device_.index()));
    }
    marked_ = marked_ || index + 1 == kMarks;
  }
  // Between mark `index` and the next one.
  [[nodiscard]] double part_ms(std::size_t index) {
    if (!on_ || !marked_) return 0;
    if (device_.is_cpu()) {
      return std::chrono::duration<double, std::milli>(times_[index + 1] - times_[index]).count();
    }
    events_[index + 1]->synchronize();
    return events_[index]->elapsedTime(*events_[index + 1]);
  }

 private:
  torch::Device device_;
  bool on_ = false;
  bool marked_ = false;
  std::array<std::chrono::steady_clock::time_point, kMarks> times_{};
  std::array<std::optional<c10::Event>, kMarks> events_;
};

class TorchSnapshot final : public TrainSnapshot {
 public:
  TorchSnapshot(std::span<const StateEntry> entries, std::map<std::string, std::string> metadata)
      : copy_(entries, std::move(metadata)) {}
  void write(const std::filesystem::path& path) const override {
    translate_errors("saving " + path.string(), [&] { copy_.write(path); });
  }

 private:
  StateCopy copy_;
};

class TorchTrainer final : public Trainer {
 public:
  explicit TorchTrainer(const TrainSettings& settings)
      : settings_(settings),
        device_(parse_device(settings.device)),
        threads_(settings.operator_threads > 0 ? settings.operator_threads : read_topology().usable()),
        format_(settings.channels_last ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::Contiguous),
        type_(torch_type(settings.precision)),
        staging_(device_),
        timer_(device_) {
    use_device();
    reset_peak_memory(device_);
    torch::manual_seed(settings.seed);
    network_ = find_model(settings.model).make(settings.classes);
    network_->to(device_);
    for (torch::Tensor& parameter : network_->parameters()) {
      if (parameter.dim() == 4) parameter.set_data(parameter.detach().contiguous(format_));
    }
    optimiser_ = make_optimiser(*network_, settings.optimiser);
    if (settings.average > 0) average_.emplace(*network_, settings.average);
    if (settings.precision == Precision::kFloat16) scaler_.emplace(device_);
  }

  void load(const HostBatch& batch) override {
    translate_errors("loading a batch", [&] {
      use_device();
      check_labels(batch.labels);
      check_targets(batch);
      staging_.load(batch);
    });
  }

  void step(double learning_rate, bool update) override {
    translate_errors("training step", [&] {
      use_device();
      network_->train();
      use_averages(false);
      timer_.mark(0);
      const Staging::Current& batch = staging_.current();
      torch::Tensor loss = torch::nn::functional::cross_entropy(
          forward(batch), batch.targets.defined() ? batch.targets : batch.labels,
          torch::nn::functional::CrossEntropyFuncOptions().label_smoothing(settings_.label_smoothing));
      timer_.mark(1);
      const torch::Tensor share = settings_.accumulate > 1 ? loss / settings_.accumulate : loss;
      (scaler_ ? scaler_->scale(share) : share).backward();
      timer_.mark(2);
      if (update) change_weights(learning_rate);
      loss_ = loss.detach();
      timer_.mark(3);
      staging_.used();
    });
  }

  void synchronise() override {
    if (device_.is_cpu()) return;
    translate_errors("waiting for the device", [&] { at::accelerator::synchronizeDevice(device_.index()); });
  }

  double loss() override {
    if (!loss_.defined()) throw Error(ErrorKind::kArgument, "training: loss requested before the first step");
    return translate_errors("reading the loss", [&] { return loss_.item<double>(); });
  }

  void enable_timing(bool on) override {
    timer_.enable(on);
    staging_.enable_timing(on);
  }

  StepTimes times() override {
    if (!timer_.enabled()) return {};
    return translate_errors("reading the step's times", [&]() -> StepTimes {
      return {staging_.copy_ms(), timer_.part_ms(0), timer_.part_ms(1), timer_.part_ms(2)};
    });
  }

  void evaluate(Evaluation& result) override {
    translate_errors("evaluation step", [&] {
      use_device();
      const torch::NoGradGuard no_grad;
      network_->eval();
      use_averages(true);
      const Staging::Current& batch = staging_.current();
      const torch::Tensor logits = forward(batch);
      const torch::Tensor correct = logits.argmax(1).eq(batch.labels).sum();
      const torch::Tensor loss = torch::cross_entropy_loss(logits, batch.labels, {}, at::Reduction::Sum);
      staging_.used();
      result.samples += batch.labels.size(0);
      result.correct += correct.item<std::int64_t>();
      result.loss_sum += loss.item<double>();
    });
  }

  std::unique_ptr<TrainSnapshot> snapshot(const TrainProgress& progress) override {
    return translate_errors("copying the state of the training", [&] {
      std::map<std::string, std::string> metadata{
          {"format", "pt"}, {kStepKey, std::to_string(progress.step)}, {kOptimiserKey, optimiser_word()}};
      if (!progress.data.empty()) metadata[kDataKey] = progress.data;
      return std::make_unique<TorchSnapshot>(checkpoint_state(), std::move(metadata));
    });
  }

  TrainProgress restore(const std::filesystem::path& path) override {
    return translate_errors("restoring " + path.string(), [&] {
      use_averages(false);
      const MappedFile file(path);
      const SafetensorsHeader header = parse_safetensors(file.bytes(), path.string());
      const auto step = header.metadata.find(kStepKey);
      const bool checkpoint = step != header.metadata.end();
      TrainProgress progress;
      if (checkpoint) {
        progress.step = step_number(step->second, path);
        check_optimiser(header, path.string());
      }
      if (const auto data = header.metadata.find(kDataKey); checkpoint && data != header.metadata.end())
        progress.data = data->second;
      load_state(checkpoint ? checkpoint_state() : network_state(*network_), {header, file.bytes(), path.string()});
      if (!checkpoint) forget_progress();
      if (checkpoint) optimiser_->restored();
      if (checkpoint && average_) average_->restored();
      return progress;
    });
  }

  LoadedWeights load_weights(const std::filesystem::path& path) override {
    return translate_errors("loading weights " + path.string(), [&] {
      const MappedFile file(path);
      const SafetensorsHeader header = parse_safetensors(file.bytes(), path.string());
      use_averages(false);
      const std::vector<StateEntry> entries = network_state(*network_);
      LoadedWeights result;
      result.initialised = load_state(entries, {header, file.bytes(), path.string()},
                                      {head_of(*network_), {"optimiser.", "loss_scaler.", "average.", kWeightsPrefix}});
      result.loaded = entries.size() - result.initialised.size();
      forget_progress();
      return result;
    });
  }

  std::size_t peak_memory_bytes() override {
    return translate_errors("reading the device's memory", [&] { return peak_memory(device_); });
  }
  std::int64_t parameters() const override { return count_parameters(*network_); }
  double macs() const override {
    return translate_errors("counting multiply-adds", [&] { return count_macs(*network_, settings_.image_size); });
  }

 private:
  // OpenMP stores the number of operator threads per calling thread; changing it clears the cached kernels of oneDNN.
  void use_device() {
    if (torch::get_num_threads() != threads_) torch::set_num_threads(threads_);
    if (!device_.is_cpu()) at::accelerator::setDeviceIndex(device_.index());
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

  torch::Tensor prepare(const Staging::Current& batch) {
    if (batch.pixels.scalar_type() == torch::kUInt8) return normalise_(batch.pixels, batch.normalisation, format_);
    const torch::Tensor pixels = type_ == torch::kFloat32 ? batch.pixels.to(torch::kFloat32) : batch.pixels;
    return pixels.contiguous(format_);
  }

  // Logits in float32.
  torch::Tensor forward(const Staging::Current& batch) {
    const AutocastScope autocast(device_.type(), type_);
    return network_->forward(prepare(batch)).to(torch::kFloat32);
  }

  void change_weights(double learning_rate) {
    torch::Tensor found_inf;
    if (scaler_) found_inf = scaler_->unscale(optimiser_->gradients());
    if (settings_.clip_norm > 0) clip_gradients(optimiser_->gradients(), settings_.clip_norm);
    optimiser_->step(learning_rate, found_inf);
    if (scaler_) scaler_->update(found_inf);
    optimiser_->clear_gradients();
    if (average_) average_->update();
  }

  // Lets the network have the averages, or the weights that are trained.
  void use_averages(bool on) {
    if (!average_ || averaged_ == on) return;
    average_->swap();
    averaged_ = on;
  }

  // The weights for use, under torchvision's names, and everything else that a run needs to continue.
  std::vector<StateEntry> checkpoint_state() {
    use_averages(false);
    std::vector<StateEntry> entries = network_state(*network_);
    if (average_) {
      for (StateEntry& entry : entries) entry.name = kWeightsPrefix + entry.name;
      entries.insert(entries.begin(), average_->averages().begin(), average_->averages().end());
      entries.push_back({kAverageUpdates, average_->updates()});
    }
    for (StateEntry& entry : optimiser_->state()) entries.push_back(std::move(entry));
    if (scaler_) {
      entries.push_back({kScaleName, scaler_->scale_tensor()});
      entries.push_back({kGoodStepsName, scaler_->growth_tensor()});
    }
    return entries;
  }

  // A checkpoint of another optimiser would be rejected for its first tensor; this message is clearer.
  void check_optimiser(const SafetensorsHeader& header, const std::string& origin) const {
    const auto stored = header.metadata.find(kOptimiserKey);
    const std::string expected = optimiser_word();
    if (stored != header.metadata.end() && stored->second != expected)
      throw Error(ErrorKind::kInput,
                  fmt::format("loading weights {}: the checkpoint has the state of the optimiser {}; expected {}. "
                              "Continue with --optimiser {}, or load only the weights with --weights",
                              origin, stored->second, expected, stored->second));
  }
  [[nodiscard]] std::string optimiser_word() const { return std::string(word_of(settings_.optimiser.name)); }

  // After loading plain weights: the state of the optimiser belongs to other weights.
  void forget_progress() {
    optimiser_->reset();
    if (scaler_) scaler_.emplace(device_);
    if (average_) average_->reset();
  }

  static std::int64_t step_number(const std::string& text, const std::filesystem::path& path) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0) {
      throw Error(ErrorKind::kInput, fmt::format("loading weights {}: {} is \"{}\", expected a step number",
                                                 path.string(), kStepKey, text));
    }
    return number;
  }

  TrainSettings settings_;
  torch::Device device_;
  int threads_;
  torch::MemoryFormat format_;
  torch::ScalarType type_;
  Staging staging_;
  StepTimer timer_;
  Normaliser normalise_;
  NetworkPtr network_;
  std::unique_ptr<Optimiser> optimiser_;
  std::optional<WeightAverage> average_;
  bool averaged_ = false;  // whether the network has the averages
  std::optional<LossScaler> scaler_;
  torch::Tensor loss_;
};

}  // namespace

std::unique_ptr<Trainer> make_torch_trainer(const TrainSettings& settings) {
  return translate_errors("creating a trainer for " + settings.model,
                          [&]() -> std::unique_ptr<Trainer> { return std::make_unique<TorchTrainer>(settings); });
}

}  // namespace unstarve
