#include "unstarve/torch/updates/training_state.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "unstarve/core/file.h"
#include "unstarve/infer/graph/normalisation_text.h"
#include "unstarve/models/zoo.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/torch/common/graph_checkpoint.h"
#include "unstarve/torch/common/guards.h"

namespace unstarve {
namespace {

constexpr const char* kVersionKey = "unstarve.version";
constexpr const char* kVersion = "1";  // of names and meanings of tensors and metadata
constexpr const char* kStepKey = "unstarve.step";
constexpr const char* kDataKey = "unstarve.data";
constexpr const char* kOptimiserKey = "unstarve.optimiser";
constexpr const char* kPruneKey = "unstarve.prune";
constexpr const char* kWeightsPrefix = "training.";
constexpr const char* kAverageUpdates = "average.updates";
constexpr const char* kScaleName = "loss_scaler.scale";
constexpr const char* kGoodStepsName = "loss_scaler.good_steps";

class TorchSnapshot final : public TrainSnapshot {
 public:
  TorchSnapshot(std::span<const StateEntry> entries, std::map<std::string, std::string> metadata, std::int64_t steps)
      : copy_(entries, std::move(metadata)), steps_(steps) {}
  // False if it is a snapshot of other state.
  [[nodiscard]] bool load(std::span<const StateEntry> entries) const { return copy_.load(entries); }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  void write(const std::filesystem::path& path) const override {
    translate_errors("saving " + path.string(), [&] {
      if (const std::string name = copy_.not_finite(); !name.empty())
        throw Error(ErrorKind::kCheck,
                    fmt::format("write {}: tensor \"{}\" contains NaN or infinity; expected finite numbers. Lower the "
                                "learning rate",
                                path.string(), name));
      copy_.write(path);
    });
  }

 private:
  StateCopy copy_;
  std::int64_t steps_;
};

std::int64_t step_number(const std::string& text, const std::filesystem::path& path) {
  const std::optional<std::int64_t> number = parse_number<std::int64_t>(text);
  if (number && *number >= 0) return *number;
  throw Error(ErrorKind::kInput,
              fmt::format("loading weights {}: {} is \"{}\"; expected a step number", path.string(), kStepKey, text));
}

// Checkpoints of before version 1 lack the key and have its layout.
void check_version(const SafetensorsHeader& header, const std::string& origin) {
  const auto found = header.metadata.find(kVersionKey);
  if (found == header.metadata.end() || found->second == kVersion) return;
  throw Error(ErrorKind::kInput, fmt::format("loading weights {}: found a checkpoint of version \"{}\"; expected {}. "
                                             "Continue with the version of unstarve that wrote it",
                                             origin, found->second, kVersion));
}

}  // namespace

std::vector<std::string> training_state_prefixes() {
  return {"optimiser.", "loss_scaler.", "lookahead.", "average.", "pruned.", "quantisation.", kWeightsPrefix};
}

TrainingState::TrainingState(NetworkPtr network, std::string model, const TrainSettings& settings, torch::Device device)
    : network_(std::move(network)),
      model_(std::move(model)),
      settings_{settings.optimiser.name, settings.accumulate, settings.qat.enabled},
      optimiser_(make_optimiser(*network_, settings.optimiser)),
      prepared_(network_->prepared()) {
  if (settings.lookahead.every > 0) lookahead_.emplace(*network_, settings.lookahead);
  if (settings.average > 0) average_.emplace(*network_, settings.average);
  if (settings.precision == Precision::kFloat16) scaler_.emplace(device);
  if (settings.prune.any() && !settings.prune.channels()) add_pruner(settings.prune);
  if (settings.accumulate == 1) return;
  for (const torch::Tensor& buffer : network_->buffers()) {
    buffers_.push_back(buffer.detach());
    kept_buffers_.push_back(buffer.detach().clone());
  }
}

void TrainingState::add_pruner(const PruneSettings& settings) {
  pruner_.emplace(*network_, settings);
  if (lookahead_) pruner_->add_copies(lookahead_->state(), "lookahead.");
  if (average_) pruner_->add_copies(average_->averages(), "");
}

void TrainingState::use_average(bool on) {
  if (!average_ || averaged_ == on) return;
  average_->swap();
  averaged_ = on;
}

void TrainingState::end_averages() {
  use_average(false);
  if (lookahead_) lookahead_->end();
}

void TrainingState::update_averages(double share) {
  if (lookahead_) lookahead_->update(share);
  if (average_) average_->update();
  if (pruner_) pruner_->choose({steps_ + 1, steps_ + 1 - settings_.accumulate, share});
}

void TrainingState::weights_replaced() {
  if (lookahead_) lookahead_->reset();
  if (average_) average_->reset();
  prepared_ = network_->prepared();
}

std::vector<torch::Tensor> TrainingState::statistics() const {
  std::vector<torch::Tensor> result;
  std::set<std::string> names;
  for (const auto& buffer : network_->named_buffers()) {
    if (!buffer.value().is_floating_point()) continue;
    result.push_back(buffer.value());
    names.insert(buffer.key());
  }
  if (!average_) return result;
  for (const StateEntry& entry : average_->averages())
    if (names.contains(entry.name)) result.push_back(entry.tensor);
  return result;
}

void TrainingState::keep_buffers() {
  kept_steps_ = steps_;
  if (buffers_.empty()) return;
  const torch::NoGradGuard no_grad;
  at::_foreach_copy_(kept_buffers_, buffers_);
}

void TrainingState::restore_buffers() {
  use_average(false);
  steps_ = kept_steps_;
  if (buffers_.empty()) return;
  const torch::NoGradGuard no_grad;
  at::_foreach_copy_(buffers_, kept_buffers_);
}

std::vector<StateEntry> TrainingState::entries() {
  use_average(false);
  std::vector<StateEntry> entries = network_state(*network_);
  if (average_) {
    for (StateEntry& entry : entries) entry.name = kWeightsPrefix + entry.name;
    entries.insert(entries.begin(), average_->averages().begin(), average_->averages().end());
    entries.push_back({kAverageUpdates, average_->updates()});
  }
  for (StateEntry& entry : optimiser_->state()) entries.push_back(std::move(entry));
  if (lookahead_) {
    for (StateEntry& entry : lookahead_->state()) entries.push_back(std::move(entry));
  }
  if (pruner_) {
    for (StateEntry& entry : pruner_->state()) entries.push_back(std::move(entry));
  }
  if (scaler_) {
    entries.push_back({kScaleName, scaler_->scale_tensor()});
    entries.push_back({kGoodStepsName, scaler_->growth_tensor()});
  }
  return entries;
}

std::unique_ptr<TrainSnapshot> TrainingState::snapshot(const TrainProgress& progress) {
  std::map<std::string, std::string> metadata{{"format", "pt"},
                                              {kVersionKey, kVersion},
                                              {kStepKey, std::to_string(progress.step)},
                                              {kOptimiserKey, optimiser_word()}};
  if (!progress.data.empty()) metadata[kDataKey] = progress.data;
  if (!model_.empty()) metadata[kModelKey] = model_;
  if (progress.normalisation) metadata[infer::kNormalisationKey] = infer::text_of(*progress.normalisation);
  if (progress.image_size > 0) metadata[kImageSizeKey] = std::to_string(progress.image_size);
  metadata.merge(network_->metadata());
  if (pruner_) metadata[kPruneKey] = prune_text();
  return std::make_unique<TorchSnapshot>(entries(), std::move(metadata), steps_);
}

void TrainingState::restore(const TrainSnapshot& snapshot) {
  const auto* const copy = dynamic_cast<const TorchSnapshot*>(&snapshot);
  if (copy == nullptr || !copy->load(entries())) {
    throw Error(ErrorKind::kArgument,
                "restoring the state of the training: found a snapshot of another trainer; expected one of this");
  }
  restored();
  optimiser_->clear_gradients();
  steps_ = copy->steps();
}

TrainProgress TrainingState::restore(const std::filesystem::path& path) {
  use_average(false);
  const MappedFile file(path);
  const SafetensorsHeader header = parse_safetensors(file.bytes(), path.string());
  const auto step = header.metadata.find(kStepKey);
  const StateFile state{header, file.bytes(), path.string()};
  TrainProgress progress;
  if (step == header.metadata.end()) {
    load(network_state(*network_), state);
    forget();
    steps_ = 0;
    return progress;
  }
  progress.step = step_number(step->second, path);
  if (const auto data = header.metadata.find(kDataKey); data != header.metadata.end()) progress.data = data->second;
  check_version(header, path.string());
  check_optimiser(header, path.string());
  check_parts(header, path.string());
  if (!pruner_ && keeps_zeros_of(header)) add_pruner({});
  check_pruning(header, path.string());
  check_quantisation(header, path.string());
  load(entries(), state);
  restored();
  steps_ = progress.step;
  return progress;
}

LoadedWeights TrainingState::load_weights(const std::filesystem::path& path) {
  const MappedFile file(path);
  const SafetensorsHeader header = parse_safetensors(file.bytes(), path.string());
  use_average(false);
  const std::vector<StateEntry> weights = network_state(*network_);
  LoadedWeights result;
  result.initialised =
      load(weights, {header, file.bytes(), path.string()}, {head_of(*network_), training_state_prefixes()});
  result.loaded = weights.size() - result.initialised.size();
  forget();
  if (keeps_zeros_of(header)) {
    if (!pruner_) add_pruner({});
    pruner_->keep_zeros();
  }
  return result;
}

bool TrainingState::keeps_zeros_of(const SafetensorsHeader& header) const {
  return settings_.quantised && header.metadata.contains(kPruneKey);
}

std::vector<std::string> TrainingState::load(std::span<const StateEntry> entries, const StateFile& file,
                                             const LoadOptions& options) {
  try {
    return load_state(entries, file, options);
  } catch (const Error& error) {
    const auto stored = file.header.metadata.find(kModelKey);
    if (model_.empty() || stored == file.header.metadata.end() || stored->second == model_) throw;
    throw Error(error.kind(), fmt::format("{}. The file has the network {}; expected {}: use --model {}", error.what(),
                                          stored->second, model_, stored->second));
  }
}

void TrainingState::restored() {
  optimiser_->restored();
  if (lookahead_) lookahead_->restored();
  if (average_) average_->restored();
  if (pruner_) pruner_->restored();
  prepared_ = network_->prepared();
}

void TrainingState::forget() {
  optimiser_->reset();
  if (scaler_) scaler_->reset();
  if (pruner_) pruner_->reset();
  weights_replaced();
}

std::string TrainingState::optimiser_word() const { return std::string(word_of(settings_.optimiser)); }

// A checkpoint of another optimiser would be rejected for its first tensor; this message is clearer.
void TrainingState::check_optimiser(const SafetensorsHeader& header, const std::string& origin) const {
  const auto stored = header.metadata.find(kOptimiserKey);
  const std::string expected = optimiser_word();
  if (stored == header.metadata.end() || stored->second == expected) return;
  throw Error(ErrorKind::kInput,
              fmt::format("loading weights {}: the checkpoint has the state of the optimiser {}; expected {}. "
                          "Continue with --optimiser {}, or load only the weights with --weights",
                          origin, stored->second, expected, stored->second));
}

// The same for the parts that depend on settings.
void TrainingState::check_parts(const SafetensorsHeader& header, const std::string& origin) const {
  struct Part {
    const char* name;
    const char* prefix;  // of its tensors
    bool expected;
    const char* flag;
  };
  const std::array<Part, 3> parts{
      {{"a moving average", "average.", average_.has_value(), "--average"},
       {"a state of lookahead", "lookahead.", lookahead_.has_value(), "--lookahead"},
       {"a loss scale of float16", "loss_scaler.", scaler_.has_value(), "--precision float16"}}};
  for (const Part& part : parts) {
    const bool found = std::ranges::any_of(
        header.tensors, [&](const StoredTensor& tensor) { return tensor.name.starts_with(part.prefix); });
    if (found == part.expected) continue;
    throw Error(
        ErrorKind::kInput,
        fmt::format(
            "loading weights {}: the checkpoint {} {}; expected {}. Continue {} {}, or load only the weights with "
            "--weights",
            origin, found ? "has" : "lacks", part.name, found ? "none" : "one", found ? "with" : "without", part.flag));
  }
}

std::string TrainingState::prune_text() const { return to_text(pruner_ ? pruner_->settings() : PruneSettings()); }

void TrainingState::check_quantisation(const SafetensorsHeader& header, const std::string& origin) const {
  if (!header.metadata.contains(kLimitsKey) || network_->metadata().contains(kLimitsKey)) return;
  throw Error(
      ErrorKind::kInput,
      fmt::format("loading weights {}: found a checkpoint of quantisation-aware training; expected one without. "
                  "Continue with --qat, or load only the weights with --weights",
                  origin));
}

void TrainingState::check_pruning(const SafetensorsHeader& header, const std::string& origin) const {
  const auto found = header.metadata.find(kPruneKey);
  const std::string stored = found != header.metadata.end() ? found->second : to_text(PruneSettings());
  if (stored == prune_text()) return;
  throw Error(ErrorKind::kInput,
              fmt::format("loading weights {}: the checkpoint has the pruning {}; expected {}. Continue with the "
                          "settings of the checkpoint, or load only the weights with --weights",
                          origin, stored, prune_text()));
}

}  // namespace unstarve
