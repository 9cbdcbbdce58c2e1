#include "unstarve/jobs/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "unstarve/observe/format.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/order/sources.h"

namespace unstarve {
namespace {

// Batches that the consumer may hold in addition to prefetched ones (pipeline/plan/slot_count.h).
constexpr std::uint64_t kHeldBatches = 2;

std::string usable_cores(const Topology& topology) {
  if (topology.quota > 0 && std::floor(topology.quota) < topology.affinity)
    return fmt::format("{} of {} CPUs, limited by the cgroup quota of {:g}", topology.usable(), topology.online,
                       topology.quota);
  if (topology.affinity < topology.online)
    return fmt::format("{} of {} CPUs, limited by the affinity mask", topology.usable(), topology.online);
  return fmt::format("{} of {} CPUs", topology.usable(), topology.online);
}

ExplainedSetting threads(const ExecutionSpec& requested, const Plan& plan, const Topology& topology) {
  ExplainedSetting setting{"execution.threads", fmt::format("{}", plan.execution.threads), ""};
  if (plan.execution.tuned) {
    setting.reason = requested.cpu_limit > 0 && requested.cpu_limit < topology.usable()
                         ? fmt::format("initially execution.cpu_limit {}, then autotuned", requested.cpu_limit)
                         : std::string("initially all usable cores, then autotuned");
    setting.reason += ": " + usable_cores(topology);
  } else if (requested.threads == 0) {
    setting.reason = "all usable cores: " + usable_cores(topology);
  } else {
    setting.reason = "as requested; usable cores: " + usable_cores(topology);
  }
  return setting;
}

ExplainedSetting prefetch(const ExecutionSpec& requested, const Plan& plan, const ExplainResult& result) {
  ExplainedSetting setting{"execution.prefetch", fmt::format("{}", requested.prefetch), ""};
  if (requested.prefetch == 0) {
    setting.reason = "each batch is loaded when it is requested; nothing overlaps with the consumer's work";
  } else {
    setting.reason = requested.prefetch == ExecutionSpec{}.prefetch ? "the default" : "as requested";
    setting.reason += ": the number of batches prepared while the consumer works on one";
    if (plan.execution.tuned) setting.reason += ", initially, then autotuned";
  }
  setting.reason += "; with the two batches of the consumer, " + format_bytes(result.memory_bytes) + " of memory";
  return setting;
}

// The decision of a pass, with its reason.
ExplainedSetting decided(std::string name, std::string value, const Plan& plan, std::string_view by) {
  const auto note =
      std::find_if(plan.passes.begin(), plan.passes.end(), [&](const PassNote& n) { return n.name == by; });
  return {std::move(name), std::move(value), note->reason};
}

ExplainedSetting read_ahead(const Plan& plan) {
  return {"execution.read_ahead", fmt::format("{}", plan.execution.read_ahead), plan.execution.read_ahead_reason};
}

ExplainedSetting cache(const Plan& plan) {
  const CacheWhat what = plan.cache.what;
  return decided("cache.what",
                 what == CacheWhat::kPixels    ? "pixels"
                 : what == CacheWhat::kEncoded ? "encoded"
                                               : "nothing",
                 plan, "cache");
}

ExplainedSetting pinned(const ExecutionSpec& requested, const std::string& device) {
  ExplainedSetting setting{"execution.pinned", "false", "the batches stay on the host"};
  if (!device.starts_with("cuda")) return setting;
  setting.value = requested.pinned ? "true" : "false";
  setting.reason = requested.pinned
                       ? "page-locked batches, so that copies to " + device + " overlap with its computation"
                       : "disabled by execution.pinned: copies to " + device + " block the host";
  return setting;
}

ExplainedSetting batch(const PipelineSpec& spec, const Order& order) {
  ExplainedSetting setting{"batch.size", fmt::format("{}", spec.batch.size), ""};
  const auto global = static_cast<std::uint64_t>(spec.batch.size) * static_cast<std::uint64_t>(spec.order.world);
  const std::uint64_t over = order.length() % global;
  setting.reason = fmt::format("{} per epoch", order.batches_per_epoch());
  if (spec.order.world > 1) setting.reason += fmt::format(" on each of {} ranks", spec.order.world);
  if (over > 0 && spec.batch.last == LastBatch::kDrop) {
    setting.reason += fmt::format("; batch.last: drop omits the last {} samples", over);
  } else if (over > 0) {
    setting.reason += fmt::format("; the last batch has {}", order.batch_samples(order.batches_per_epoch() - 1));
    if (spec.batch.last == LastBatch::kPad) setting.reason += ", padded to full size by repetition";
  }
  return setting;
}

ExplainedSetting output(const StoreFormat& format) {
  const char* const type = format.type == ElementType::kUint8     ? "uint8"
                           : format.type == ElementType::kFloat32 ? "float32"
                           : format.type == ElementType::kFloat16 ? "float16"
                                                                  : "bfloat16";
  ExplainedSetting setting{"output", fmt::format("{} {}", type, format.layout == Layout::kNchw ? "NCHW" : "NHWC"), ""};
  if (format.type == ElementType::kUint8) {
    setting.reason = "transfers a quarter of the bytes of float32; the device applies mean and std";
  } else {
    setting.reason = "the loader applies mean and std";
  }
  return setting;
}

ExplainedSetting errors(const ErrorSpec& spec) {
  const auto limits = [&] {
    std::string text = fmt::format("; the run fails after more than {} bad samples", spec.limit);
    if (spec.rate < 1) text += ", or at a share above " + format_percent(spec.rate);
    return text;
  };
  switch (spec.policy) {
    case OnError::kFail: break;
    case OnError::kSkip:
      return {"errors.policy", "skip",
              "bad samples are left out of their batch; a batch without good samples is skipped" + limits()};
    case OnError::kReplace:
      return {"errors.policy", "replace", "the next good sample by id replaces a bad sample" + limits()};
  }
  return {"errors.policy", "fail", "the first bad sample fails the run, after the good batches before it"};
}

}  // namespace

ExplainResult explain_settings(const Settings& settings, const std::string& device,
                               std::shared_ptr<const Dataset> dataset, const Topology& topology) {
  RunOptions options;
  options.usable_cores = topology.usable();
  options.consumer = device.starts_with("cuda") ? Consumer::kNormalises : Consumer::kHost;
  const PlannedRun run = plan_run(settings.pipeline, std::move(dataset), options);
  const Plan& plan = run.plan;
  const Stage& stage = plan.stages[0];
  ExplainResult result;
  result.settings = settings;
  result.format = plan.data.format;
  result.samples = plan.data.samples;
  result.classes = plan.data.classes;
  result.encoded = plan.data.encoded;
  result.image = stage.sizes.front();
  for (std::size_t i = 0; i < stage.operations.size(); ++i)
    result.operations.push_back(
        {plan.spec.operations[i], stage.sizes[i], stage.sizes[i + 1], stage.operations[i]->random()});
  result.sample_size = plan.sample_size;
  result.batches = run.order.batches_per_epoch();
  result.batch_bytes =
      Storer(plan.output).sample_bytes(plan.sample_size) * static_cast<std::uint64_t>(plan.spec.batch.size);
  result.memory_bytes = result.batch_bytes * (static_cast<std::uint64_t>(plan.execution.prefetch) + kHeldBatches);
  result.passes = plan.passes;
  result.decode = decode_notes(plan);
  result.plan = explain(run);

  const ExecutionSpec& requested = settings.pipeline.execution;
  result.chosen = {threads(requested, plan, topology),
                   prefetch(requested, plan, result),
                   read_ahead(plan),
                   cache(plan),
                   pinned(requested, device),
                   batch(settings.pipeline, run.order),
                   output(settings.pipeline.output),
                   errors(settings.pipeline.errors)};
  return result;
}

ExplainResult run_explain(const Settings& settings, const std::string& device) {
  return explain_settings(settings, device, open_sources(settings.pipeline), read_topology());
}

}  // namespace unstarve
