#pragma once
// Everything that training changes: weights, their averages, the masks of pruned weights, the optimiser's tensors, the
// scale of the loss and the number of steps. It is saved, restored and reset as one.
//
// The network has either the weights that are trained or their average (use_average()). A checkpoint contains the
// weights for use under torchvision's names: the averages if there are any, and then the trained weights with the
// prefix "training.".
//
// Ownership: owns the network and all parts. Threads: one at a time.
// Failure:   Error(kInput) for a file with the first entry that does not fit; nothing is changed then.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/types.h>

#include "unstarve/models/layers.h"
#include "unstarve/models/weights.h"
#include "unstarve/torch/updates/lookahead.h"
#include "unstarve/torch/updates/loss_scaler.h"
#include "unstarve/torch/updates/optimiser.h"
#include "unstarve/torch/updates/pruner.h"
#include "unstarve/torch/updates/weight_average.h"
#include "unstarve/train/trainer.h"

namespace unstarve {

// Metadata of a checkpoint: the name of its network, and the height and width of its images.
inline constexpr const char* kModelKey = "unstarve.model";
inline constexpr const char* kImageSizeKey = "unstarve.image_size";
// How the names of tensors begin that a checkpoint has next to the weights for use.
[[nodiscard]] std::vector<std::string> training_state_prefixes();

class TrainingState {
 public:
  // The network is on `device` already. `model`: its name, which is stored in snapshots; "": unknown.
  TrainingState(NetworkPtr network, std::string model, const TrainSettings& settings, torch::Device device);

  [[nodiscard]] Network& network() const { return *network_; }
  [[nodiscard]] Optimiser& optimiser() const { return *optimiser_; }
  [[nodiscard]] Pruner* pruner() { return pruner_ ? &*pruner_ : nullptr; }      // null except with pruning
  [[nodiscard]] LossScaler* scaler() { return scaler_ ? &*scaler_ : nullptr; }  // null except with float16

  // Lets the network have the averages, or the weights that are trained. Without averages it does nothing.
  void use_average(bool on);
  // After an update of the weights at `share` of the run: updates lookahead and moving average, then prunes.
  void update_averages(double share);
  // At the end of a run whose last update had a share below 1: the weights become the slow ones of lookahead.
  void end_averages();
  // After other changes of the weights: averages begin again with the present ones.
  void weights_replaced();
  // Running means and variances of the network, and their moving averages.
  [[nodiscard]] std::vector<torch::Tensor> statistics() const;
  // With several steps per update: keeps the buffers of the network and the number of steps, before the first of these
  // steps; returns to them.
  void keep_buffers();
  void restore_buffers();
  // Network::prepared(), without waiting for the device.
  [[nodiscard]] bool prepared() const { return prepared_; }

  // Steps done since the beginning of the run; they determine the random numbers of the next one.
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  void count_step() { ++steps_; }

  [[nodiscard]] std::unique_ptr<TrainSnapshot> snapshot(const TrainProgress& progress);
  // Error(kArgument) for a snapshot of another trainer.
  void restore(const TrainSnapshot& snapshot);
  // A checkpoint, or plain weights: then everything else is as after construction and the progress is zero.
  TrainProgress restore(const std::filesystem::path& path);
  // Plain weights or those of a checkpoint, of a network with any number of classes.
  LoadedWeights load_weights(const std::filesystem::path& path);

 private:
  [[nodiscard]] std::vector<StateEntry> entries();
  void restored();  // after entries() were overwritten
  void forget();    // after loading plain weights: the rest belongs to other weights
  // load_state(); its error also has the names of the networks, if they are known and differ.
  std::vector<std::string> load(std::span<const StateEntry> entries, const StateFile& file,
                                const LoadOptions& options = {});
  [[nodiscard]] std::string optimiser_word() const;
  void check_optimiser(const SafetensorsHeader& header, const std::string& origin) const;
  void check_parts(const SafetensorsHeader& header, const std::string& origin) const;
  void add_pruner(const PruneSettings& settings);
  [[nodiscard]] bool keeps_zeros_of(const SafetensorsHeader& header) const;
  [[nodiscard]] std::string prune_text() const;
  void check_pruning(const SafetensorsHeader& header, const std::string& origin) const;
  void check_quantisation(const SafetensorsHeader& header, const std::string& origin) const;

  // The settings that it uses after construction.
  struct Used {
    OptimiserName optimiser;
    int accumulate;  // steps per update
    bool quantised;  // training for int8: weights that a file has pruned stay zero
  };

  NetworkPtr network_;
  std::string model_;
  Used settings_;
  std::unique_ptr<Optimiser> optimiser_;
  std::optional<Lookahead> lookahead_;
  std::optional<WeightAverage> average_;
  std::optional<Pruner> pruner_;
  bool averaged_ = false;  // whether the network has the averages
  std::optional<LossScaler> scaler_;
  bool prepared_;
  std::int64_t steps_ = 0;
  std::vector<torch::Tensor> buffers_, kept_buffers_;  // empty with one step per update
  std::int64_t kept_steps_ = 0;
};

}  // namespace unstarve
