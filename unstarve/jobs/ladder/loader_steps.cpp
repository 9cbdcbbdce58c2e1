// Steps of the loader, and of the copy to the device.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "unstarve/jobs/ladder/candidates.h"
#include "unstarve/pipeline/passes/make_plan.h"
#include "unstarve/pipeline/plan/consumer.h"
#include "unstarve/pipeline/spec/pass_switches.h"

namespace unstarve {
namespace {

void copy_pass(const Settings& from, Settings& to, const std::string& pass) {
  const auto& switches = from.pipeline.passes;
  if (const auto at = switches.find(pass); at != switches.end())
    to.pipeline.passes[pass] = at->second;
  else
    to.pipeline.passes.erase(pass);
}

// The reason why the pass would not apply to the data with the current settings; "": it applies.
std::string why_pass_does_not_apply(const LadderContext& context, const Settings& current, std::string_view pass) {
  if (!context.data.encoded) return "samples are stored as pixels";
  PipelineSpec spec = current.pipeline;
  if (is_enabled(spec, pass)) return "already enabled";
  spec.passes[std::string(pass)] = true;
  spec.cache = {};  // a choice that is still open
  const std::vector<PassNote> notes = make_plan(std::move(spec), context.data, {}).plan.passes;
  const PassNote& note = *std::ranges::find(notes, pass, &PassNote::name);
  return note.applied ? "" : note.reason;
}

void copy_crop_into_decode(const Settings& from, Settings& to) { copy_pass(from, to, "crop_into_decode"); }
void copy_scale_into_decode(const Settings& from, Settings& to) { copy_pass(from, to, "scale_into_decode"); }

// A quarter of the bytes of float32; the device casts and normalises.
std::string no_uint8(const LadderContext& context, const Settings& current) {
  if (!context.has_network()) return "an emulated accelerator accepts any type; a real one may not";
  return current.pipeline.output.type == ElementType::kUint8 ? "already uint8" : "";
}

Candidates uint8(const LadderContext&, const Settings& current) {
  return edited(current, "float32 -> uint8, normalised on the device",
                [](Settings& s) { s.pipeline.output.type = ElementType::kUint8; });
}

// More threads that read, decode and augment, on the cores that the user's cpu_limit leaves.
int loader_cores(const LadderContext& context, const Settings& current) {
  const int usable = context.machine.topology.usable(), limit = current.pipeline.execution.cpu_limit;
  return limit > 0 ? std::min(limit, usable) : usable;
}

std::string no_more_threads(const LadderContext& context, const Settings& current) {
  const int cores = loader_cores(context, current), now = current.pipeline.execution.threads;
  if (cores > now) return "";
  const bool limited = cores < context.machine.topology.usable();
  return fmt::format("already at least as many threads ({}) as {} ({})", now,
                     limited ? "execution.cpu_limit" : "usable cores", cores);
}

Candidates more_threads(const LadderContext& context, const Settings& current) {
  const int usable = loader_cores(context, current), now = current.pipeline.execution.threads;
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
  return why_pass_does_not_apply(context, current, "crop_into_decode");
}

Candidates crop_only_decode(const LadderContext&, const Settings& current) {
  return edited(current, "whole image -> crop only", [](Settings& s) { s.pipeline.passes.erase("crop_into_decode"); });
}

// Decodes JPEGs at 1/2, 1/4 or 1/8 if the crop is at least that much larger than the target. Approximate: the low-pass
// of the inverse DCT replaces part of the antialiasing filter.
std::string no_reduced_scale(const LadderContext& context, const Settings& current) {
  return why_pass_does_not_apply(context, current, "scale_into_decode");
}

Candidates reduced_scale(const LadderContext&, const Settings& current) {
  return edited(current, "full size -> power-of-two size",
                [](Settings& s) { s.pipeline.passes["scale_into_decode"] = true; });
}

}  // namespace

const LadderStep kUint8Step{.name = "uint8 over the bus",
                            .not_applicable = no_uint8,
                            .candidates = uint8,
                            .copy = copy_member<&Settings::pipeline, &PipelineSpec::output, &StoreFormat::type>};

const LadderStep kLoaderThreadsStep{
    .name = "worker threads",
    .not_applicable = no_more_threads,
    .candidates = more_threads,
    .copy = copy_member<&Settings::pipeline, &PipelineSpec::execution, &ExecutionSpec::threads>};

const LadderStep kPrefetchStep{
    .name = "prefetch depth",
    .not_applicable = no_deeper_prefetch,
    .candidates = deeper_prefetch,
    .copy = copy_member<&Settings::pipeline, &PipelineSpec::execution, &ExecutionSpec::prefetch>};

const LadderStep kPinnedMemoryStep{
    .name = "pinned memory, asynchronous copy",
    .not_applicable = no_pinned_memory,
    .candidates = pinned_memory,
    .copy = copy_member<&Settings::pipeline, &PipelineSpec::execution, &ExecutionSpec::pinned>};

const LadderStep kCropOnlyDecodeStep{.name = "crop-only decoding",
                                     .not_applicable = no_crop_only_decode,
                                     .candidates = crop_only_decode,
                                     .copy = copy_crop_into_decode};

const LadderStep kReducedScaleStep{.name = "reduced decoding scale",
                                   .approximate = true,
                                   .not_applicable = no_reduced_scale,
                                   .candidates = reduced_scale,
                                   .copy = copy_scale_into_decode};

}  // namespace unstarve
