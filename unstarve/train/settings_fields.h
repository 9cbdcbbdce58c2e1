#pragma once
// Every training setting once: path in the settings file, flag of `unstarve train`, range and meaning.
//
//   reader and writer of the file (jobs/settings), checks (settings.cpp), flags (cli/options/train_flags.h) and
//   docs/reference/training.md ──visit──▶ visit_train_fields()
//
// Paths that end with "_ramp" are the begin and the end of a ramp, as shares of the run.
//
// To add a setting: a member of TrainSettings and a row here. `visit` is called with a FieldInfo and the member: a
// std::string, bool, int, std::uint64_t, double, std::vector<double> or an enumeration with words_of().

#include <limits>
#include <string>
#include <vector>

#include "unstarve/train/settings.h"

namespace unstarve {

// The values of a number that are accepted: from `low` to `high`. An excluded bound is not accepted itself.
struct FieldRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_excluded = false;
  bool high_excluded = false;
  [[nodiscard]] bool contains(double value) const {
    return (low_excluded ? value > low : value >= low) && (high_excluded ? value < high : value <= high);
  }
};

inline constexpr int kLeastSide = 8, kLargestSide = 65536;  // of training images
inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();
inline constexpr FieldRange kShare{0, 1, false, true};  // 0 <= x < 1
inline constexpr FieldRange kRamp{0, 1};
inline constexpr FieldRange kPositive{0, 1e6, true};  // 0 < x
inline constexpr FieldRange kNotNegative{0, 1e6};

struct FieldInfo {
  const char* path;  // "optimiser.momentum"
  const char* flag;  // "--momentum"; "": set by other means
  FieldRange range;
  const char* help;  // one line, for the command line and the reference
  // The default of `unstarve train` where it differs from that of TrainSettings or depends on data and machine.
  const char* fallback = "";
};

// A value that is out of range, and why: "found 7; expected at least 0 and less than 1".
struct FieldFault {
  FieldInfo field;
  std::string text;
};
[[nodiscard]] std::vector<FieldFault> faults_of(const TrainSettings& settings);
// As check_settings() (settings.h), with this name of each field in messages.
void check_settings(const TrainSettings& settings, std::string (*name_of)(const FieldInfo&));

template <class Settings, class Visit>
void visit_train_fields(Settings& s, Visit&& visit) {
  visit(FieldInfo{"model", "", {}, "network"}, s.model);
  visit(FieldInfo{"classes", "", {2, 1e9}, "number of classes"}, s.classes);
  visit(FieldInfo{"image_size", "", {kLeastSide, kLargestSide}, "side length of the training images, in pixels"},
        s.image_size);
  visit(FieldInfo{"evaluation_size",
                  "--evaluation-size",
                  {},
                  "side length of the images in evaluations, in pixels; 0: as the training images"},
        s.evaluation_size);
  visit(FieldInfo{"device", "", {}, "cpu, cuda or cuda:N"}, s.device);
  visit(FieldInfo{"precision",
                  "--precision",
                  {},
                  "number format of multiplications; weights stay float32",
                  "bfloat16 if supported, else float32"},
        s.precision);
  visit(FieldInfo{"channels_last", "--channels-last", {}, "use the memory format channels-last (NHWC)", "true"},
        s.channels_last);
  visit(FieldInfo{"operator_threads", "--operator-threads", {0, 65536}, "threads per operator; 0: all usable cores"},
        s.operator_threads);
  visit(FieldInfo{"interop_threads",
                  "--interop-threads",
                  {0, 65536},
                  "threads for concurrent TorchScript operators; 0: libtorch's default"},
        s.interop_threads);
  visit(FieldInfo{"graph", "--graph", {}, "run each step on a GPU as one CUDA graph (auto: if possible)"}, s.graph);
  visit(FieldInfo{"fused_batch_norm",
                  "--fused-batch-norm",
                  {},
                  "compute batch norm, activation and residual in one pass; requires channels-last"},
        s.fused_batch_norm);
  visit(FieldInfo{"winograd",
                  "--winograd",
                  {},
                  "use Winograd's algorithm for 3 x 3 convolutions; applies on a CPU, in float32, or bfloat16 without "
                  "AMX, with channels-last and without qat"},
        s.winograd);
  visit(FieldInfo{"resident",
                  "--resident",
                  {},
                  "keep the decoded training images on the device and make batches there (auto: if possible)",
                  "off; auto with the recipe cifar-speed"},
        s.resident);
  visit(FieldInfo{"learning_rate",
                  "--learning-rate",
                  {0, 1e3, true},
                  "peak learning rate for this batch size",
                  "0.1 at batch 256; 0.001 with adamw, 1 with lars, 0.005 with lamb"},
        s.learning_rate);
  visit(FieldInfo{"optimiser.name", "--optimiser", {}, "optimiser"}, s.optimiser.name);
  visit(
      FieldInfo{
          "optimiser.form",
          "--update",
          {},
          "implementation of the update: one parameter at a time, a few kernels for all parameters, or one kernel",
          "fused; foreach with lars and lamb"},
      s.optimiser.form);
  visit(FieldInfo{"optimiser.momentum", "--momentum", kShare, "momentum of sgd and lars"}, s.optimiser.momentum);
  visit(FieldInfo{"optimiser.nesterov", "--nesterov", {}, "use Nesterov momentum with sgd"}, s.optimiser.nesterov);
  visit(FieldInfo{"optimiser.beta1", "--beta1", kShare, "decay of the mean gradient of adamw and lamb"},
        s.optimiser.beta1);
  visit(FieldInfo{"optimiser.beta2", "--beta2", kShare, "decay of the mean squared gradient of adamw and lamb"},
        s.optimiser.beta2);
  visit(FieldInfo{"optimiser.epsilon", "--epsilon", kPositive, "added to the denominator of adamw and lamb"},
        s.optimiser.epsilon);
  visit(FieldInfo{"optimiser.trust", "--trust", kPositive,
                  "trust coefficient of lars: ratio of the norms of update and weights"},
        s.optimiser.trust);
  visit(FieldInfo{"optimiser.weight_decay", "--weight-decay", kNotNegative, "weight decay"}, s.optimiser.weight_decay);
  visit(
      FieldInfo{
          "optimiser.decay_all", "--decay-all", {}, "apply weight decay also to biases and batch-norm parameters"},
      s.optimiser.decay_all);
  visit(FieldInfo{"optimiser.norm_bias_rate", "--norm-bias-rate", kPositive,
                  "factor of the learning rate of batch-norm biases; their weight decay is divided by it"},
        s.optimiser.norm_bias_rate);
  visit(FieldInfo{"schedule.name", "--schedule", {}, "learning-rate schedule after the warm-up"}, s.schedule.name);
  visit(FieldInfo{"schedule.warmup", "--warmup", kShare, "share of the steps in which the learning rate warms up"},
        s.schedule.warmup);
  visit(
      FieldInfo{
          "schedule.initial_share",
          "--initial-share",
          {0, 1},
          "learning rate at the beginning of the warm-up, as a share of the peak; for all schedules except one_cycle"},
      s.schedule.initial_share);
  visit(FieldInfo{"schedule.final_share",
                  "--final-share",
                  {0, 1},
                  "learning rate at the end, as a share of the peak; for linear, cosine and polynomial"},
        s.schedule.final_share);
  visit(FieldInfo{"schedule.power", "--power", kPositive, "exponent of the polynomial schedule"}, s.schedule.power);
  visit(
      FieldInfo{
          "schedule.at",
          "--step-at",
          {0, 1, true, true},
          "for the schedule step: shares of the run after which the learning rate is multiplied by --step-factor"},
      s.schedule.at);
  visit(
      FieldInfo{"schedule.factor", "--step-factor", {0, 1, true}, "for the schedule step: factor of the learning rate"},
      s.schedule.factor);
  visit(FieldInfo{"clip_norm", "--clip-norm", kNotNegative,
                  "largest norm of the gradients of all parameters; 0: no limit"},
        s.clip_norm);
  visit(FieldInfo{"accumulate", "--accumulate", {1, 1e6}, "batches per update of the weights"}, s.accumulate);
  visit(FieldInfo{"average", "--average", kShare,
                  "decay of the moving average of the weights (EMA) per update; 0: no average"},
        s.average);
  visit(FieldInfo{"lookahead.every",
                  "--lookahead",
                  {0, 1e6},
                  "number of updates between two lookahead averages; 0: no lookahead"},
        s.lookahead.every);
  visit(FieldInfo{"lookahead.decay", "--lookahead-decay", kShare,
                  "largest decay of the lookahead average; the decay rises with the cube of the progress of the run"},
        s.lookahead.decay);
  visit(FieldInfo{"prune.sparsity", "--prune", kShare,
                  "share of the weights of convolutions and linear layers that become zero; with --prune-pattern "
                  "channels, share of the multiply-adds that are removed; 0: share of the pattern, or none"},
        s.prune.sparsity);
  visit(FieldInfo{"prune.pattern",
                  "--prune-pattern",
                  {},
                  "which weights become zero: any; N:M keeps N of each M consecutive input channels, such as 2:4; "
                  "channels removes channels of the network of --weights before the first step"},
        s.prune.pattern);
  visit(FieldInfo{"prune.sparsity_ramp", "--prune-ramp", kRamp, "shares of the run between which the sparsity rises"},
        s.prune.sparsity_ramp);
  visit(FieldInfo{"prune.every",
                  "--prune-every",
                  {0, 1e6},
                  "steps between two selections of weights to prune; 0: a twentieth of the ramp, at most 100"},
        s.prune.every);
  visit(FieldInfo{"qat.enabled",
                  "",
                  {},
                  "train for int8: weights and activations are rounded as in the exported model",
                  "false; true with --qat"},
        s.qat.enabled);
  visit(
      FieldInfo{"qat.begin", "--qat-begin", kShare,
                "share of the run after which values are rounded for int8; until then, only their limits are measured"},
      s.qat.begin);
  visit(FieldInfo{"qat.freeze",
                  "--qat-freeze",
                  {0, 1},
                  "share of the run after which the limits for int8 and the batch-norm statistics are fixed"},
        s.qat.freeze);
  visit(FieldInfo{"whitening_epochs", "--whitening-epochs", kNotNegative,
                  "number of epochs in which the bias of a whitening layer is trained; 0: all"},
        s.whitening_epochs);
  visit(FieldInfo{"sync_batch_norm", "--sync-batch-norm", {}, "compute batch norm over all ranks, for small batches"},
        s.sync_batch_norm);
  visit(FieldInfo{"label_smoothing", "--label-smoothing", kShare,
                  "label smoothing: probability that is distributed over all classes",
                  "0.1 for images up to 40 px, else 0"},
        s.label_smoothing);
  visit(FieldInfo{"progressive.image_size",
                  "--progressive-size",
                  {},
                  "side length of the training images in the first epochs, in pixels; 0: the full size in all epochs"},
        s.progressive.image_size);
  visit(FieldInfo{"progressive.image_size_ramp", "--progressive-size-ramp", kRamp,
                  "shares of the run between which the image size rises to the full size"},
        s.progressive.image_size_ramp);
  visit(FieldInfo{"progressive.multiple",
                  "--progressive-multiple",
                  {0, 65536},
                  "sizes between the first and the full size are multiples of this; 0: 32, or 4 up to 40 px"},
        s.progressive.multiple);
  visit(FieldInfo{"progressive.augmentation",
                  "--progressive-augmentation",
                  {0, 1},
                  "strength of the augmentation in the first epochs, as a share of the full strength"},
        s.progressive.augmentation);
  visit(FieldInfo{"progressive.augmentation_ramp", "--progressive-augmentation-ramp", kRamp,
                  "shares of the run between which the augmentation rises to the full strength"},
        s.progressive.augmentation_ramp);
  visit(FieldInfo{"progressive.samples",
                  "--progressive-samples",
                  {0, 1, true},
                  "share of the samples that each of the first epochs uses"},
        s.progressive.samples);
  visit(FieldInfo{"progressive.samples_ramp", "--progressive-samples-ramp", kRamp,
                  "shares of the run between which the number of samples rises to all of them"},
        s.progressive.samples_ramp);
  visit(FieldInfo{"test_augmentation",
                  "--test-augmentation",
                  {},
                  "test-time augmentation: views of each image that evaluations average"},
        s.test_augmentation);
  visit(FieldInfo{"seed", "", {0, kNoLimit}, "seed of the initial weights, dropout and stochastic depth"}, s.seed);
}

}  // namespace unstarve
