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

// Batches that the consumer may hold besides those that are being made (pipeline/executor/slot_ring.h).
constexpr std::uint64_t kHeldBatches = 2;

std::string usable_cores(const Topology& topology) {
  if (topology.quota > 0 && std::floor(topology.quota) < topology.affinity)
    return fmt::format("{} of {} processors, by the cgroup's quota of {:g}", topology.usable(), topology.online,
                       topology.quota);
  if (topology.affinity < topology.online)
    return fmt::format("{} of {} processors, by the affinity mask", topology.usable(), topology.online);
  return fmt::format("{} of {} processors", topology.usable(), topology.online);
}

ExplainedSetting threads(const ExecutionSpec& asked, const Plan& plan, const Topology& topology) {
  ExplainedSetting setting{"execution.threads", fmt::format("{}", plan.execution.threads), ""};
  if (plan.execution.tuned) {
    setting.reason = asked.cpu_limit > 0 && asked.cpu_limit < topology.usable()
                         ? fmt::format("execution.cpu_limit {} to begin with, tuned while it runs", asked.cpu_limit)
                         : std::string("all usable cores to begin with, tuned while it runs");
    setting.reason += ": " + usable_cores(topology);
  } else if (asked.threads == 0) {
    setting.reason = "all usable cores: " + usable_cores(topology);
  } else {
    setting.reason = "as asked for; usable cores are " + usable_cores(topology);
  }
  return setting;
}

ExplainedSetting prefetch(const ExecutionSpec& asked, const Plan& plan, const ExplainResult& result) {
  ExplainedSetting setting{"execution.prefetch", fmt::format("{}", asked.prefetch), ""};
  if (asked.prefetch == 0) {
    setting.reason = "each batch is made when it is asked for, nothing beside the consumer's work";
  } else {
    setting.reason = asked.prefetch == ExecutionSpec{}.prefetch ? "the default" : "as asked for";
    setting.reason += ": so many batches are made while the consumer works on one";
    if (plan.execution.tuned) setting.reason += ", to begin with, tuned while it runs";
  }
  setting.reason += "; with the consumer's two, " + format_bytes(result.memory_bytes) + " of memory";
  return setting;
}

// What a pass decided, with its reason.
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

ExplainedSetting pinned(const ExecutionSpec& asked, const std::string& device) {
  ExplainedSetting setting{"execution.pinned", "false", "the batches stay on the host"};
  if (!device.starts_with("cuda")) return setting;
  setting.value = asked.pinned ? "true" : "false";
  setting.reason = asked.pinned ? "page-locked batches, so that copies to " + device + " run beside its compute"
                                : "switched off by execution.pinned: copies to " + device + " wait for the host";
  return setting;
}

ExplainedSetting batch(const PipelineSpec& spec, const Order& order) {
  ExplainedSetting setting{"batch.size", fmt::format("{}", spec.batch.size), ""};
  const auto global = static_cast<std::uint64_t>(spec.batch.size) * static_cast<std::uint64_t>(spec.order.world);
  const std::uint64_t over = order.length() % global;
  setting.reason = fmt::format("{} an epoch", order.batches_per_epoch());
  if (spec.order.world > 1) setting.reason += fmt::format(" on each of {} ranks", spec.order.world);
  if (over > 0 && spec.batch.last == LastBatch::kDrop) {
    setting.reason += fmt::format("; its last {} samples are left out by batch.last: drop", over);
  } else if (over > 0) {
    setting.reason += fmt::format("; the last has {}", order.batch_samples(order.batches_per_epoch() - 1));
    if (spec.batch.last == LastBatch::kPad) setting.reason += ", repeated to full size";
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
    setting.reason = "a quarter of float32's bytes to the device, which applies mean and std";
  } else {
    setting.reason = "the loader applies mean and std";
  }
  return setting;
}

ExplainedSetting errors(const ErrorSpec& spec) {
  const auto limits = [&] {
    std::string text = fmt::format("; more than {} bad ones end the run", spec.limit);
    if (spec.rate < 1) text += ", and so does a share above " + format_percent(spec.rate);
    return text;
  };
  switch (spec.policy) {
    case OnError::kFail: break;
    case OnError::kSkip:
      return {"errors.policy", "skip", "a batch is shorter by its bad samples, and left out where all are" + limits()};
    case OnError::kReplace:
      return {"errors.policy", "replace", "the next good sample by id takes a bad one's place" + limits()};
  }
  return {"errors.policy", "fail", "the first bad sample ends the run, behind the good batches before it"};
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

  const ExecutionSpec& asked = settings.pipeline.execution;
  result.chosen = {threads(asked, plan, topology),
                   prefetch(asked, plan, result),
                   read_ahead(plan),
                   cache(plan),
                   pinned(asked, device),
                   batch(settings.pipeline, run.order),
                   output(settings.pipeline.output),
                   errors(settings.pipeline.errors)};
  return result;
}

ExplainResult run_explain(const Settings& settings, const std::string& device) {
  return explain_settings(settings, device, open_sources(settings.pipeline), read_topology());
}

}  // namespace unstarve
