// Steps of the network: its batches, its arithmetic and its threads.
#include <fmt/format.h>

#include <array>

#include "unstarve/jobs/ladder/candidates.h"
#include "unstarve/train/settings_fields.h"
#include "unstarve/train/trainer.h"

namespace unstarve {
namespace {

// Batch size: fewer launches and optimiser steps per sample, larger matrix products. Larger batches lose accuracy at
// equal epochs on small datasets and use too much memory with large images.
constexpr int kLargestBatch = 1024;

bool batch_fits(const LadderContext& context, int batch) {
  return batch <= kLargestBatch && static_cast<std::uint64_t>(batch) * kBatchesPerEpoch <= context.samples;
}

std::string no_larger_batch(const LadderContext& context, const Settings& current) {
  const int twice = current.pipeline.batch.size * 2;
  if (!context.has_network()) return "the time per sample of an emulated accelerator does not depend on the batch size";
  if (context.reduced_batch) return "larger batches are too slow for --minutes";
  if (batch_fits(context, twice)) return {};
  return fmt::format("{} samples are fewer than {} batches of {} per epoch", context.samples, kBatchesPerEpoch, twice);
}

Candidates larger_batches(const LadderContext& context, const Settings& current) {
  const int now = current.pipeline.batch.size;
  Candidates list;
  for (int batch = now * 2; batch_fits(context, batch); batch *= 2) {  // multiples of 8 suit matrix units
    list.push_back({current, fmt::format("batch {} -> {}", now, batch)});
    set_batch(list.back().settings, batch);
  }
  return list;
}

// Matrix products in 16 bits, weights and sums in float32. bfloat16 has the range of float32. float16 needs loss
// scaling, but some devices have instructions for it only, or run it faster.
constexpr std::array kMixedPrecisions{Precision::kBfloat16, Precision::kFloat16};

std::string no_mixed_precision(const LadderContext& context, const Settings& current) {
  const Precision precision = current.train.precision;
  if (!context.has_network()) return kNoNetwork;
  if (precision != Precision::kFloat32) return "already " + std::string(to_string(precision));
  std::string reasons;
  for (const Precision mixed : kMixedPrecisions) {
    const PrecisionSupport support = precision_supported(context.target.name, mixed);
    if (support.supported) return "";
    reasons += (reasons.empty() ? "" : "; ") + support.reason;
  }
  return reasons;
}

Candidates mixed_precision(const LadderContext& context, const Settings& current) {
  Candidates list;
  for (const Precision mixed : kMixedPrecisions) {
    if (!precision_supported(context.target.name, mixed).supported) continue;
    list.push_back({current, fmt::format("float32 -> {}", to_string(mixed))});
    list.back().settings.train.precision = mixed;
  }
  return list;
}

// Weights and activations in NHWC, the native layout of oneDNN and tensor core kernels.
std::string no_channels_last(const LadderContext& context, const Settings& current) {
  if (!context.has_network()) return kNoNetwork;
  return current.train.channels_last ? "already channels-last" : "";
}

Candidates channels_last(const LadderContext&, const Settings& current) {
  return edited(current, "NCHW -> NHWC", [](Settings& s) {
    s.train.channels_last = true;
    s.pipeline.output.layout = Layout::kNhwc;  // the loader writes the layout of the network
  });
}

void copy_layout(const Settings& from, Settings& to) {
  to.train.channels_last = from.train.channels_last;
  to.pipeline.output.layout = from.pipeline.output.layout;
}

// Batch norm, activation and residual in one pass over memory instead of one pass each.
std::string no_fused_batch_norm(const LadderContext& context, const Settings& current) {
  if (!context.has_network()) return kNoNetwork;
  if (current.train.fused_batch_norm) return "already fused";
  if (!current.train.channels_last) return "requires the memory format NHWC";
  const bool half = current.train.precision == Precision::kFloat16;
  return half && !context.target.cuda() ? "float16 has it on a GPU only" : "";
}

Candidates fused_batch_norm(const LadderContext&, const Settings& current) {
  return edited(current, "one pass for batch norm, activation and residual",
                [](Settings& s) { s.train.fused_batch_norm = true; });
}

// 3 x 3 convolutions with a quarter of the multiplications.
std::string no_winograd(const LadderContext& context, const Settings& current) {
  if (!context.has_network()) return kNoNetwork;
  if (current.train.winograd) return "already used";
  if (current.train.qat.enabled) return "training for int8 has its own convolutions";
  if (context.target.cuda()) return "on a GPU, cuDNN computes them";
  if (!current.train.channels_last) return "requires the memory format NHWC";
  if (current.train.precision == Precision::kFloat16) return "float32 and bfloat16 only";
  const bool half = current.train.precision == Precision::kBfloat16;
  return half && context.machine.has("amx_bf16") ? "this CPU multiplies bfloat16 faster (AMX)" : "";
}

Candidates winograd(const LadderContext&, const Settings& current) {
  return edited(current, "3 x 3 convolutions by Winograd's algorithm", [](Settings& s) { s.train.winograd = true; });
}

// One kernel, or a few, that update all parameters instead of several small ones per parameter.
std::string no_other_optimiser(const LadderContext& context, const Settings& current) {
  if (!context.has_network()) return kNoNetwork;
  const OptimiserSettings& optimiser = current.train.optimiser;
  if (optimiser.form == UpdateForm::kFused) return "already fused";
  if (optimiser.form == UpdateForm::kEach || has_fused_form(optimiser.name)) return "";
  return fmt::format("already foreach; {} has no fused form", word_of(optimiser.name));
}

Candidates other_optimisers(const LadderContext&, const Settings& current) {
  Candidates list;
  const auto add = [&](UpdateForm form, const char* what) {
    list.push_back({current, what});
    list.back().settings.train.optimiser.form = form;
  };
  const OptimiserSettings& optimiser = current.train.optimiser;
  if (optimiser.form == UpdateForm::kEach)
    add(UpdateForm::kForeach, "one update per parameter -> a few kernels for all");
  if (has_fused_form(optimiser.name)) add(UpdateForm::kFused, "one update per parameter -> one fused update");
  return list;
}

// All kernels of a step are launched by one call, so that small networks do not wait for the host.
std::string no_graph(const LadderContext& context, const Settings& current) {
  if (!context.has_network()) return kNoNetwork;
  if (!context.target.cuda()) return "only the steps of a GPU can be recorded as a graph";
  if (current.train.graph != GraphUse::kOff) return "already recorded as a graph";
  if (current.train.optimiser.form != UpdateForm::kFused)
    return "only the fused optimiser reads the learning rate on the device";
  return "";
}

Candidates graph(const LadderContext&, const Settings& current) {
  return edited(current, "one launch per kernel -> one launch per step",
                [](Settings& s) { s.train.graph = GraphUse::kAuto; });
}

// Fewer threads within operators leave cores to the loader, which can help if both run on the same CPU.
std::string no_fewer_operator_threads(const LadderContext& context, const Settings&) {
  if (!context.has_network()) return kNoNetwork;
  if (context.target.cuda()) return kOperatorsOnGpu;
  return context.machine.topology.usable() < 2 ? "only one core" : "";
}

Candidates fewer_operator_threads(const LadderContext& context, const Settings& current) {
  const int usable = context.machine.topology.usable();
  const int now = current.train.operator_threads > 0 ? current.train.operator_threads : usable;
  Candidates list;
  for (const int threads : {usable - 1, usable / 2}) {
    if (threads == now || (!list.empty() && list.back().settings.train.operator_threads == threads)) continue;
    list.push_back({current, fmt::format("{} -> {} threads", now, threads)});
    list.back().settings.train.operator_threads = threads;
  }
  return list;
}

}  // namespace

const LadderStep kBatchSizeStep{
    .name = "batch size",
    .affects_learning = true,
    .not_applicable = no_larger_batch,
    .candidates = larger_batches,
    .copy = [](const Settings& from, Settings& to) { set_batch(to, from.pipeline.batch.size); }};

const LadderStep kMixedPrecisionStep{.name = "mixed precision",
                                     .affects_learning = true,
                                     .not_applicable = no_mixed_precision,
                                     .candidates = mixed_precision,
                                     .copy = copy_member<&Settings::train, &TrainSettings::precision>};

const LadderStep kChannelsLastStep{
    .name = "channels-last", .not_applicable = no_channels_last, .candidates = channels_last, .copy = copy_layout};

const LadderStep kFusedBatchNormStep{.name = "fused batch norm",
                                     .not_applicable = no_fused_batch_norm,
                                     .candidates = fused_batch_norm,
                                     .copy = copy_member<&Settings::train, &TrainSettings::fused_batch_norm>};

const LadderStep kWinogradStep{.name = "Winograd convolutions",
                               .not_applicable = no_winograd,
                               .candidates = winograd,
                               .copy = copy_member<&Settings::train, &TrainSettings::winograd>};

const LadderStep kOptimiserFormStep{
    .name = "optimiser implementation",
    .not_applicable = no_other_optimiser,
    .candidates = other_optimisers,
    .copy = copy_member<&Settings::train, &TrainSettings::optimiser, &OptimiserSettings::form>};

const LadderStep kGraphStep{.name = "step as one graph",
                            .not_applicable = no_graph,
                            .candidates = graph,
                            .copy = copy_member<&Settings::train, &TrainSettings::graph>};

const LadderStep kOperatorThreadsStep{.name = "operator threads",
                                      .not_applicable = no_fewer_operator_threads,
                                      .candidates = fewer_operator_threads,
                                      .copy = copy_member<&Settings::train, &TrainSettings::operator_threads>};

}  // namespace unstarve
