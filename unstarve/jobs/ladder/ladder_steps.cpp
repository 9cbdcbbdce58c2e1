// The optimisations that `tune` tries. Each is a function that returns the reason why it does not apply, a function
// that returns the settings to try, a function that copies the settings it changes, and a row in kLadderSteps.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "unstarve/jobs/ladder/ladder_step.h"
#include "unstarve/pipeline/spec/pass_switches.h"
#include "unstarve/train/settings_fields.h"
#include "unstarve/train/trainer.h"

namespace unstarve {
namespace {

using Candidates = std::vector<Candidate>;

constexpr const char* kNoNetwork = "no network runs on an emulated accelerator";
constexpr const char* kOperatorsOnGpu = "operators run on the GPU";
constexpr const char* kStoredPixels = "samples are stored as pixels";

void copy_pass(const Settings& from, Settings& to, const std::string& pass) {
  const auto& switches = from.pipeline.passes;
  if (const auto at = switches.find(pass); at != switches.end())
    to.pipeline.passes[pass] = at->second;
  else
    to.pipeline.passes.erase(pass);
}

// The only candidate: `current` after `edit`.
template <class Edit>
Candidates edited(const Settings& current, std::string change, const Edit& edit) {
  Candidates list{{current, std::move(change)}};
  edit(list[0].settings);
  return list;
}

// Batch size: fewer launches and optimiser steps per sample, larger matrix products. Larger batches lose accuracy at
// equal epochs on small datasets and use too much memory with large images.
constexpr int kLargestBatch = 1024;
constexpr std::uint64_t kBatchesPerEpoch = 8;

bool batch_fits(const LadderContext& context, int batch) {
  return batch <= kLargestBatch && static_cast<std::uint64_t>(batch) * kBatchesPerEpoch <= context.samples;
}

std::string no_larger_batch(const LadderContext& context, const Settings& current) {
  const int twice = current.pipeline.batch.size * 2;
  if (!context.has_network()) return "the time per sample of an emulated accelerator does not depend on the batch size";
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
  return current.train.channels_last ? "already channels last" : "";
}

Candidates channels_last(const LadderContext&, const Settings& current) {
  return edited(current, "NCHW -> NHWC", [](Settings& s) {
    s.train.channels_last = true;
    s.pipeline.output.layout = Layout::kNhwc;  // the loader writes the layout of the network
  });
}

// Batch norm, activation and residual in one pass over memory instead of one pass each.
std::string no_fused_batch_norm(const LadderContext& context, const Settings& current) {
  if (!context.has_network()) return kNoNetwork;
  if (current.train.fused_batch_norm) return "already fused";
  if (!current.train.channels_last) return "only the memory format NHWC has it";
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
  if (!current.train.channels_last) return "only the memory format NHWC has it";
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

// A quarter of the bytes of float32; the device casts and normalises.
std::string no_uint8(const LadderContext& context, const Settings& current) {
  if (!context.has_network()) return "an emulated accelerator accepts any type; a real one may not";
  return current.pipeline.output.type == ElementType::kUint8 ? "already uint8" : "";
}

Candidates uint8(const LadderContext&, const Settings& current) {
  return edited(current, "float32 -> uint8, normalised on the device",
                [](Settings& s) { s.pipeline.output.type = ElementType::kUint8; });
}

// More threads that read, decode and augment.
std::string no_more_threads(const LadderContext& context, const Settings& current) {
  const int usable = context.machine.topology.usable(), now = current.pipeline.execution.threads;
  return usable > now ? "" : fmt::format("already {} thread(s) on {} usable core(s)", now, usable);
}

Candidates more_threads(const LadderContext& context, const Settings& current) {
  const int usable = context.machine.topology.usable(), now = current.pipeline.execution.threads;
  std::set<int> counts{usable};
  for (int threads = now * 2; threads < usable; threads *= 2) counts.insert(threads);
  Candidates list;
  for (const int threads : counts) {
    list.push_back({current, fmt::format("{} -> {} threads", now, threads)});
    list.back().settings.pipeline.execution.threads = threads;
  }
  return list;
}

// Loading and computing overlap, and stragglers are absorbed. Two batches are enough for a steady loader, four for a
// loader with jitter (see the M/M/1/K wait model of the tf.data autotuner).
std::string no_deeper_prefetch(const LadderContext&, const Settings& current) {
  const int now = current.pipeline.execution.prefetch;
  return now < 4 ? "" : fmt::format("already {} prefetched batches", now);
}

Candidates deeper_prefetch(const LadderContext&, const Settings& current) {
  const int now = current.pipeline.execution.prefetch;
  Candidates list;
  for (const int depth : {2, 4}) {
    if (depth <= now) continue;
    list.push_back({current, fmt::format("{} -> {} prefetched batches", now, depth)});
    list.back().settings.pipeline.execution.prefetch = depth;
  }
  return list;
}

// Batch slots in page-locked memory: the copy engine reads them directly while the device computes.
std::string no_pinned_memory(const LadderContext& context, const Settings& current) {
  if (context.target.emulated()) return "an emulated accelerator reads batches from host memory";
  if (!context.target.cuda()) return "the CPU trains on the loader's memory: nothing to copy";
  return current.pipeline.execution.pinned ? "already pinned" : "";
}

Candidates pinned_memory(const LadderContext&, const Settings& current) {
  return edited(current, "pageable -> pinned, copied asynchronously",
                [](Settings& s) { s.pipeline.execution.pinned = true; });
}

// Decodes only the cropped part of an image; the pixels are the same.
std::string no_crop_only_decode(const LadderContext& context, const Settings& current) {
  if (!context.encoded) return kStoredPixels;
  if (is_enabled(current.pipeline, "crop_into_decode")) return "already enabled";
  const std::vector<OpSpec>& operations = current.pipeline.operations;
  const bool crops =
      !operations.empty() && operations[0].name != "pad_crop" && operations[0].name.find("crop") != std::string::npos;
  return crops ? "" : "the first operation reads the whole image";
}

Candidates crop_only_decode(const LadderContext&, const Settings& current) {
  return edited(current, "whole image -> crop only", [](Settings& s) { s.pipeline.passes.erase("crop_into_decode"); });
}

// Decodes JPEGs at 1/2, 1/4 or 1/8 if the crop is at least that much larger than the target. Approximate: the low-pass
// of the inverse DCT replaces part of the antialiasing filter.
std::string no_reduced_scale(const LadderContext& context, const Settings& current) {
  if (!context.encoded) return kStoredPixels;
  if (is_enabled(current.pipeline, "scale_into_decode")) return "already enabled";
  const bool reduces = std::ranges::any_of(current.pipeline.operations, [](const OpSpec& operation) {
    return operation.name == "random_resized_crop" || operation.name == "resize";
  });
  return reduces ? "" : "no operation reduces the image size";
}

Candidates reduced_scale(const LadderContext&, const Settings& current) {
  return edited(current, "full size -> power-of-two size",
                [](Settings& s) { s.pipeline.passes["scale_into_decode"] = true; });
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

// Host settings belong to a process: each side is measured in a process of its own.
std::string no_host_setting(const LadderContext& context, const std::string& of_user) {
  if (!context.has_network()) return kNoNetwork;
  if (!context.starts_processes) return "only unstarve tune can measure it, in separate processes";
  return of_user;
}

// What the threads of OpenMP do between operators: to wait in a loop starts the next operator sooner, to sleep leaves
// the core to the loader and to other programs.
std::string no_wait_policy(const LadderContext& context, const Settings&) {
  if (context.target.cuda()) return kOperatorsOnGpu;
  if (context.has_network() && context.machine.topology.usable() < 2) return "only one core";
  return no_host_setting(context, wait_policy_of_user(context.host.user));
}

Candidates wait_policies(const LadderContext&, const Settings& current) {
  Candidates list;
  for (const WaitPolicy policy : {WaitPolicy::kPassive, WaitPolicy::kBrief, WaitPolicy::kActive}) {
    if (policy == current.host.wait_policy) continue;
    list.push_back({current, fmt::format("{} -> {}", word_of(current.host.wait_policy), word_of(policy))});
    list.back().settings.host.wait_policy = policy;
  }
  return list;
}

// Operators wait for their slowest thread: a loader thread on the core of one delays all of them.
std::string no_affinity(const LadderContext& context, const Settings& current) {
  if (context.target.cuda()) return kOperatorsOnGpu;
  if (current.host.affinity == Affinity::kSplit) return "already split";
  if (context.has_network() && context.machine.topology.usable() < 2) return "only one core";
  return no_host_setting(context, "");
}

Candidates affinities(const LadderContext& context, const Settings& current) {
  const int usable = context.machine.topology.usable(), now = current.train.operator_threads;
  const int operators = now > 0 && now < usable ? now : usable - 1;
  return edited(current, fmt::format("{} of {} cores for operators, the others for the loader", operators, usable),
                [&](Settings& s) {
                  s.host.affinity = Affinity::kSplit;
                  s.train.operator_threads = operators;
                });
}

void copy_affinity(const Settings& from, Settings& to) {
  to.host.affinity = from.host.affinity;
  to.train.operator_threads = from.train.operator_threads;
}

// Threads for concurrent operators.
std::string no_interop_threads(const LadderContext& context, const Settings&) {
  if (!context.has_network()) return kNoNetwork;
  return "the networks run one operator at a time; libtorch uses these threads only for TorchScript tasks";
}

// Fewer entries of the page tables for heap memory and tensors: fewer misses of the translation cache and page faults.
std::string no_huge_pages(const LadderContext& context, const Settings& current) {
  const std::string& pages = context.machine.transparent_huge_pages;
  if (current.host.huge_pages) return "already requested";
  if (context.has_network() && pages == "always") return "the system uses huge pages for all memory";
  if (context.has_network() && pages != "madvise")
    return "transparent huge pages are off; echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled";
  return no_host_setting(context, huge_pages_of_user(context.host.user));
}

Candidates huge_pages(const LadderContext&, const Settings& current) {
  return edited(current, "huge pages for heap and tensors", [](Settings& s) { s.host.huge_pages = true; });
}

// Allocators with caches per thread and less contention than that of the C library.
std::string no_allocator(const LadderContext& context, const Settings& current) {
  if (current.host.allocator != HeapAllocator::kSystem)
    return fmt::format("already {}", word_of(current.host.allocator));
  const std::string reason = no_host_setting(context, allocator_of_user(context.host.user));
  if (!reason.empty() || !context.host.allocators.empty()) return reason;
  return "found no jemalloc, tcmalloc or mimalloc; apt-get install libjemalloc2";
}

Candidates allocators(const LadderContext& context, const Settings& current) {
  Candidates list;
  for (const FoundAllocator& found : context.host.allocators) {
    list.push_back({current, fmt::format("{} -> {}", word_of(current.host.allocator), word_of(found.name))});
    list.back().settings.host.allocator = found.name;
  }
  return list;
}

// What follows changes what is learned: only the accuracy of whole runs shows whether it helps.
std::string not_requested(const LadderContext& context, std::string_view word) {
  if (!context.has_network()) return kNoNetwork;
  if (std::ranges::find(context.tried, word) != context.tried.end()) return "";
  return fmt::format("changes what the network learns; --try {} --val DATA compares the time to an accuracy", word);
}

// Fewer updates per sample, at the memory of the small batch.
constexpr std::string_view kTryAccumulate = "accumulate";

std::string no_accumulation(const LadderContext& context, const Settings& current) {
  if (std::string reason = not_requested(context, kTryAccumulate); !reason.empty()) return reason;
  const std::int64_t update = std::int64_t{2} * current.train.accumulate * current.pipeline.batch.size;
  if (static_cast<std::uint64_t>(update) * kBatchesPerEpoch <= context.samples) return "";
  return fmt::format("{} samples are fewer than {} updates of {} per epoch", context.samples, kBatchesPerEpoch, update);
}

Candidates accumulation(const LadderContext&, const Settings& current) {
  const int now = current.train.accumulate;
  return edited(current, fmt::format("{} -> {} batches per update", now, 2 * now), [&](Settings& s) {
    s.train.accumulate = 2 * now;
    s.train.learning_rate = scaled_rate(s.train.learning_rate, 1, 2, scaling_rule(s.train.optimiser.name));
  });
}

void copy_accumulation(const Settings& from, Settings& to) {
  to.train.accumulate = from.train.accumulate;
  to.train.learning_rate = from.train.learning_rate;
}

// Evaluation with the mean of the weights over about half an epoch, which is more accurate than the latest ones.
constexpr std::string_view kTryAverage = "average";

std::string no_average(const LadderContext& context, const Settings& current) {
  if (std::string reason = not_requested(context, kTryAverage); !reason.empty()) return reason;
  return current.train.average > 0 ? fmt::format("already {}", current.train.average) : "";
}

Candidates average(const LadderContext& context, const Settings& current) {
  const double per_update = static_cast<double>(current.train.accumulate) * current.pipeline.batch.size;
  const double updates = static_cast<double>(context.samples) / per_update / 2;
  const double decay = std::clamp(std::round((1 - 1 / std::max(updates, 1.0)) * 1e4) / 1e4, 0.9, 0.9999);
  return edited(current, fmt::format("no average -> decay {}", decay), [&](Settings& s) { s.train.average = decay; });
}

// Smaller images in the first epochs, at 0.72 times the full side length as in ffcv-imagenet.
constexpr std::string_view kTryProgressive = "progressive";

int first_side(int full) {
  const int multiple = full > 40 ? 32 : 4;
  return static_cast<int>(std::lround(0.72 * full / multiple)) * multiple;
}

std::string no_progressive(const LadderContext& context, const Settings& current) {
  if (std::string reason = not_requested(context, kTryProgressive); !reason.empty()) return reason;
  const int full = current.train.image_size;
  if (current.train.progressive.any()) return "already progressive";
  return first_side(full) >= kLeastSide && first_side(full) < full ? ""
                                                                   : fmt::format("images of {} px are small", full);
}

Candidates progressive(const LadderContext&, const Settings& current) {
  const int full = current.train.image_size, first = first_side(full);
  return edited(current, fmt::format("images of {} px -> {} px in the first epochs", full, first),
                [&](Settings& s) { s.train.progressive.image_size = first; });
}

void copy_layout(const Settings& from, Settings& to) {
  to.train.channels_last = from.train.channels_last;
  to.pipeline.output.layout = from.pipeline.output.layout;
}

// In the order of trial: first the consumer, then the loader, then the resources they share, then host settings, then
// what is tried on request.
// name, affects learning, approximate, why it does not apply, what to try, what it changes, word of --try
constexpr LadderStep kLadderSteps[] = {
    {"batch size", true, false, no_larger_batch, larger_batches,
     [](const Settings& from, Settings& to) { set_batch(to, from.pipeline.batch.size); }},
    {"mixed precision", true, false, no_mixed_precision, mixed_precision,
     [](const Settings& from, Settings& to) { to.train.precision = from.train.precision; }},
    {"channels last", false, false, no_channels_last, channels_last, copy_layout},
    {"fused batch norm", false, false, no_fused_batch_norm, fused_batch_norm,
     [](const Settings& from, Settings& to) { to.train.fused_batch_norm = from.train.fused_batch_norm; }},
    {"Winograd convolutions", false, false, no_winograd, winograd,
     [](const Settings& from, Settings& to) { to.train.winograd = from.train.winograd; }},
    {"optimiser implementation", false, false, no_other_optimiser, other_optimisers,
     [](const Settings& from, Settings& to) { to.train.optimiser.form = from.train.optimiser.form; }},
    {"step as one graph", false, false, no_graph, graph,
     [](const Settings& from, Settings& to) { to.train.graph = from.train.graph; }},
    {"uint8 over the bus", false, false, no_uint8, uint8,
     [](const Settings& from, Settings& to) { to.pipeline.output.type = from.pipeline.output.type; }},
    {"loader threads", false, false, no_more_threads, more_threads,
     [](const Settings& from, Settings& to) { to.pipeline.execution.threads = from.pipeline.execution.threads; }},
    {"prefetch depth", false, false, no_deeper_prefetch, deeper_prefetch,
     [](const Settings& from, Settings& to) { to.pipeline.execution.prefetch = from.pipeline.execution.prefetch; }},
    {"pinned memory, asynchronous copy", false, false, no_pinned_memory, pinned_memory,
     [](const Settings& from, Settings& to) { to.pipeline.execution.pinned = from.pipeline.execution.pinned; }},
    {"crop-only decode", false, false, no_crop_only_decode, crop_only_decode,
     [](const Settings& from, Settings& to) { copy_pass(from, to, "crop_into_decode"); }},
    {"reduced decode scale", false, true, no_reduced_scale, reduced_scale,
     [](const Settings& from, Settings& to) { copy_pass(from, to, "scale_into_decode"); }},
    {"threads within operators", false, false, no_fewer_operator_threads, fewer_operator_threads,
     [](const Settings& from, Settings& to) { to.train.operator_threads = from.train.operator_threads; }},
    {"inter-operator threads", false, false, no_interop_threads,
     [](const LadderContext&, const Settings&) { return Candidates(); },
     [](const Settings& from, Settings& to) { to.train.interop_threads = from.train.interop_threads; }},
    {"wait policy", false, false, no_wait_policy, wait_policies,
     [](const Settings& from, Settings& to) { to.host.wait_policy = from.host.wait_policy; }},
    {"affinity", false, false, no_affinity, affinities, copy_affinity},
    {"huge pages", false, false, no_huge_pages, huge_pages,
     [](const Settings& from, Settings& to) { to.host.huge_pages = from.host.huge_pages; }},
    {"allocator", false, false, no_allocator, allocators,
     [](const Settings& from, Settings& to) { to.host.allocator = from.host.allocator; }},
    {"gradient accumulation", true, false, no_accumulation, accumulation, copy_accumulation, kTryAccumulate},
    {"average of the weights (EMA)", true, false, no_average, average,
     [](const Settings& from, Settings& to) { to.train.average = from.train.average; }, kTryAverage},
    {"progressive image size", true, false, no_progressive, progressive,
     [](const Settings& from, Settings& to) { to.train.progressive = from.train.progressive; }, kTryProgressive},
};

}  // namespace

std::span<const LadderStep> ladder_steps() { return kLadderSteps; }

std::vector<std::string_view> words_to_try() {
  std::vector<std::string_view> words;
  for (const LadderStep& step : kLadderSteps)
    if (!step.tried_by.empty()) words.push_back(step.tried_by);
  return words;
}

}  // namespace unstarve
