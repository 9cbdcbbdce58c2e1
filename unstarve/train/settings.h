#pragma once
// Training settings: plain data, part of the settings file. Does not need libtorch.
//
// settings_fields.h lists every setting once, with range, flag and help; the YAML file, the command line, the checks
// and the reference are made from it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/core/enum_words.h"

namespace unstarve {

enum class Precision { kFloat32, kBfloat16, kFloat16 };
template <>
inline constexpr std::array<std::string_view, 3> kWords<Precision>{"float32", "bfloat16", "float16"};
enum class OptimiserName { kSgd, kAdamw, kLars, kLamb };
template <>
inline constexpr std::array<std::string_view, 4> kWords<OptimiserName>{"sgd", "adamw", "lars", "lamb"};
// How parameters are updated: one after the other, all by a few kernels (at::_foreach_*), or all by one kernel.
enum class UpdateForm { kEach, kForeach, kFused };
template <>
inline constexpr std::array<std::string_view, 3> kWords<UpdateForm>{"each", "foreach", "fused"};
// The views of an image in evaluations, whose logits are averaged: torch/common/views.h.
enum class TestAugmentation { kNone, kMirror, kMirrorTranslate };
template <>
inline constexpr std::array<std::string_view, 3> kWords<TestAugmentation>{"none", "mirror", "mirror_translate"};
// Recording of training steps as graphs (torch/graphs/step_graphs.h): if possible, always (else an error), or never.
enum class GraphUse { kAuto, kOn, kOff };
template <>
inline constexpr std::array<std::string_view, 3> kWords<GraphUse>{"auto", "on", "off"};
// Whether the decoded training images stay on the device (resident_source.h): if possible, always (else an error), or
// never.
enum class Residence { kAuto, kOn, kOff };
template <>
inline constexpr std::array<std::string_view, 3> kWords<Residence>{"auto", "on", "off"};
enum class ScheduleName { kConstant, kLinear, kCosine, kPolynomial, kStep, kOneCycle };
template <>
inline constexpr std::array<std::string_view, 6> kWords<ScheduleName>{"constant",   "linear", "cosine",
                                                                      "polynomial", "step",   "one_cycle"};

// Whether UpdateForm::kFused exists for the optimiser.
[[nodiscard]] bool has_fused_form(OptimiserName name) noexcept;
// The default peak learning rate for kRateBatch samples: sgd as He et al. (arXiv:1512.03385), adamw as torch; with lamb
// and lars, small networks learn at least as fast as with sgd.
[[nodiscard]] double default_rate(OptimiserName name) noexcept;
inline constexpr int kRateBatch = 256;

// The number of forward passes for an image in an evaluation.
[[nodiscard]] int views_of(TestAugmentation augmentation) noexcept;

// Formulas: torch/updates/optimiser.h.
struct OptimiserSettings {
  OptimiserName name = OptimiserName::kSgd;
  UpdateForm form = UpdateForm::kEach;
  double momentum = 0.9;       // sgd, lars
  bool nesterov = true;        // sgd
  double beta1 = 0.9;          // adamw, lamb
  double beta2 = 0.999;        // adamw, lamb
  double epsilon = 1e-8;       // adamw, lamb
  double trust = 0.001;        // lars
  double weight_decay = 5e-4;  // of weights with two or more dimensions
  bool decay_all = false;      // also of biases and batch-norm parameters
  double norm_bias_rate = 1;   // multiplier of the learning rate of batch-norm biases; divides their decay
  friend bool operator==(const OptimiserSettings&, const OptimiserSettings&) = default;
};

// Whether an update reads the learning rate, the number of updates and the flag of an overflow on the device: the fused
// form, and every form of lars and lamb. Steps with such updates can be recorded as graphs.
[[nodiscard]] bool updates_on_device(const OptimiserSettings& settings) noexcept;

// Formulas: schedule.h.
struct ScheduleSettings {
  ScheduleName name = ScheduleName::kLinear;
  double warmup = 0.15;      // share of all steps with rising learning rate
  double initial_share = 0;  // learning rate at which the warm-up begins, as a share of the peak: not one_cycle
  double final_share = 0;    // learning rate at the end, as a share of the peak: linear, cosine, polynomial
  double power = 2;          // polynomial
  std::vector<double> at{0.3, 0.6, 0.8};  // step: shares of all steps after which the rate is multiplied by `factor`
  double factor = 0.1;                    // step
  friend bool operator==(const ScheduleSettings&, const ScheduleSettings&) = default;
};

// Formula: torch/updates/lookahead.h.
struct LookaheadSettings {
  int every = 0;                // updates between two averages; 0: no lookahead
  double decay = 0.7737809375;  // largest decay, 0.95^5
  friend bool operator==(const LookaheadSettings&, const LookaheadSettings&) = default;
};

// Magnitude pruning: pruning.h.
struct PruneSettings {
  // Share of the weights that are zero at the end, or of the multiply-adds that are removed with channels; 0: that of
  // the pattern, or no pruning.
  double sparsity = 0;
  std::string pattern = "any";                  // "any" weights of a layer, "N:M", or "channels"
  std::vector<double> sparsity_ramp{0.1, 0.6};  // shares of the run between which the sparsity rises
  int every = 0;                                // steps between two choices of weights; 0: chosen by the length
  [[nodiscard]] bool any() const { return sparsity > 0 || has_pattern(); }
  [[nodiscard]] bool has_pattern() const { return pattern != "any"; }
  [[nodiscard]] bool channels() const { return pattern == "channels"; }
  friend bool operator==(const PruneSettings&, const PruneSettings&) = default;
};

// Quantisation-aware training: torch/networks/quantised_network.h. Shares of the run. Weights that a checkpoint has
// pruned stay zero.
struct QatSettings {
  bool enabled = false;
  double begin = 0.25;   // after which weights and activations are rounded
  double freeze = 0.75;  // after which limits of activations and statistics of batch norms keep their values
  friend bool operator==(const QatSettings&, const QatSettings&) = default;
};

// Early epochs with smaller images, weaker augmentation or fewer samples: progressive.h. The ramps are the shares of a
// run between which a value rises to its full value.
struct ProgressiveSettings {
  int image_size = 0;  // side length in the first epochs; 0: TrainSettings::image_size in all
  std::vector<double> image_size_ramp{0.4, 0.8};
  int multiple = 0;         // of which sizes between the first and the full one are; 0: 32, or 4 for thumbnails
  double augmentation = 1;  // strength in the first epochs, as a share of that of the operations
  std::vector<double> augmentation_ramp{0.4, 0.8};
  double samples = 1;  // share of the samples in the first epochs
  std::vector<double> samples_ramp{0.4, 0.8};
  [[nodiscard]] bool any() const { return image_size > 0 || augmentation < 1 || samples < 1; }
  friend bool operator==(const ProgressiveSettings&, const ProgressiveSettings&) = default;
};

struct TrainSettings {
  std::string model = "resnet18";  // see models/catalogue.h
  int classes = 10;
  int image_size = 224;
  int evaluation_size = 0;                    // side length of images in evaluations; 0: image_size
  std::string device = "cpu";                 // "cpu", "cuda", "cuda:N"
  Precision precision = Precision::kFloat32;  // autocast; weights stay float32
  bool channels_last = false;
  int operator_threads = 0;          // 0: all usable cores
  int interop_threads = 0;           // threads for concurrent operators, of TorchScript only; 0: as libtorch
  GraphUse graph = GraphUse::kAuto;  // on a GPU
  bool fused_batch_norm = true;      // where models/kernels/fused_batch_norm.h can
  bool winograd = true;              // where models/kernels/winograd_convolution.h pays
  Residence resident = Residence::kOff;
  double learning_rate = 0.1;  // peak, at the given batch size
  OptimiserSettings optimiser;
  ScheduleSettings schedule;
  double clip_norm = 0;  // largest norm of all gradients together; 0: no limit
  int accumulate = 1;    // batches per update of the weights
  double average = 0;    // decay of the moving average of the weights (EMA) per update; 0: no average
  LookaheadSettings lookahead;
  PruneSettings prune;
  QatSettings qat;
  double whitening_epochs = 0;   // in which the bias of a whitening layer is trained; 0: all
  bool sync_batch_norm = false;  // over the batches of all ranks
  double label_smoothing = 0.0;
  ProgressiveSettings progressive;
  TestAugmentation test_augmentation = TestAugmentation::kNone;
  std::uint64_t seed = 0;  // of the initial weights, dropout and stochastic depth
  friend bool operator==(const TrainSettings&, const TrainSettings&) = default;
};

// Throws Error(kArgument) with all values that are out of range, one per line, each with its path. make_trainer()
// checks model, device and precision.
void check_settings(const TrainSettings& settings);
// Throws Error(kArgument) if the device cannot record the graphs that the settings require.
void check_graph(const TrainSettings& settings);

}  // namespace unstarve
