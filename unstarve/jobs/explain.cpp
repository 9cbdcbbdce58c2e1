#include "unstarve/jobs/explain.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "unstarve/core/json.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/observe/format.h"
#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/store/store.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/pipeline/plan/build_plan.h"
#include "unstarve/pipeline/plan/consumer.h"
#include "unstarve/pipeline/plan/explain.h"
#include "unstarve/pipeline/spec/yaml_json.h"

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

ExplainedSetting threads(const ExecutionSpec& requested, const ExecutionPlan& plan, const Topology& topology) {
  ExplainedSetting setting{"execution.threads", fmt::format("{}", plan.threads), ""};
  if (plan.tuned) {
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

ExplainedSetting prefetch(const ExecutionSpec& requested, const ExecutionPlan& plan, const ExplainResult& result) {
  ExplainedSetting setting{"execution.prefetch", fmt::format("{}", requested.prefetch), ""};
  if (requested.prefetch == 0) {
    setting.reason = "each batch is loaded when it is requested, without overlap with the consumer's work";
  } else {
    setting.reason = requested.prefetch == ExecutionSpec{}.prefetch ? "default" : "as requested";
    setting.reason += ": batches prepared before the consumer requests them";
    if (plan.tuned) setting.reason += "; the initial value, then autotuned";
  }
  setting.reason += "; memory with the two batches that the consumer holds: " + format_bytes(result.memory_bytes);
  return setting;
}

// The decision of a pass, with its reason.
ExplainedSetting decided(std::string name, std::string value, const Plan& plan, std::string_view by) {
  const auto note = std::ranges::find(plan.passes, by, &PassNote::name);
  return {std::move(name), std::move(value), note->reason};
}

ExplainedSetting read_ahead(const ExecutionPlan& plan) {
  return {"execution.read_ahead", fmt::format("{}", plan.read_ahead), plan.read_ahead_reason};
}

ExplainedSetting cache(const Plan& plan) {
  const CacheWhat what = cached(plan);
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
  ExplainedSetting setting{
      "output", fmt::format("{} {}", name_of(format.type), format.layout == Layout::kNchw ? "NCHW" : "NHWC"), ""};
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

Json json_of(Size size) { return Json::array({size.width, size.height}); }

Json json_of(const OpParams& params) {
  Json map = Json::object();
  for (const auto& [name, value] : params) {
    if (value.scheduled())
      map[name] = to_text(value);
    else if (value.word.empty())
      map[name] = value.numbers;
    else
      map[name] = value.word == "true" || value.word == "false" ? Json(value.word == "true") : Json(value.word);
  }
  return map;
}

// Indents each line of a text.
std::string indented(const std::string& text, std::size_t indent) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += std::string(indent, ' ') + printable(text.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return out;
}

const ExplainedSetting& chosen(const ExplainResult& result, std::string_view name) {
  return *std::ranges::find(result.chosen, name, &ExplainedSetting::name);
}

// "2: initially all usable cores, then autotuned"
std::string value_and_reason(const ExplainedSetting& setting) { return setting.value + ": " + setting.reason; }

std::string operations_line(const ExplainResult& result) {
  std::string names;
  for (const ExplainedOperation& operation : result.operations)
    names += (names.empty() ? "" : ", ") + operation.spec.name;
  return fmt::format("{}: {}x{} -> {}x{}", names.empty() ? "none" : names, result.image.width, result.image.height,
                     result.sample_size.width, result.sample_size.height);
}

std::string decode_line(const ExplainResult& result) {
  if (!result.encoded) return "none: samples are stored as pixels";
  std::string text;
  for (const DecodeNote& note : result.decode)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", note.name, note.value);
  return text;
}

std::string passes_line(const ExplainResult& result) {
  std::string names;
  for (const PassNote& pass : result.passes)
    if (pass.applied) names += (names.empty() ? "" : ", ") + pass.name;
  return fmt::format("{} ({} of {} applied)", names.empty() ? "none" : names,
                     std::ranges::count(result.passes, true, &PassNote::applied), result.passes.size());
}

}  // namespace

ExplainResult explain_settings(const Settings& settings, const std::string& device,
                               std::shared_ptr<const Dataset> dataset, const Topology& topology) {
  RunOptions options;
  options.usable_cores = topology.usable();
  options.consumer = device.starts_with("cuda") ? Consumer::kNormalises : Consumer::kHost;
  const PlannedRun run = plan_run(settings.pipeline, std::move(dataset), options);
  const Plan& plan = run.plan;
  const ScheduleStage& stage = plan.stages[0];
  ExplainResult result;
  result.settings = settings;
  result.format = plan.facts.format;
  result.samples = plan.facts.samples;
  result.classes = plan.facts.classes;
  result.encoded = plan.facts.encoded;
  result.image = stage.sizes.front();
  for (std::size_t i = 0; i < stage.operations.size(); ++i)
    result.operations.push_back(
        {plan.spec.operations[i], stage.sizes[i], stage.sizes[i + 1], stage.operations[i]->random()});
  result.sample_size = plan.sample_size();
  result.batches = run.order.batches_per_epoch();
  result.batch_bytes =
      Storer(plan.store().format).sample_bytes(result.sample_size) * static_cast<std::uint64_t>(plan.spec.batch.size);
  result.memory_bytes = result.batch_bytes * (static_cast<std::uint64_t>(run.execution.prefetch) + kHeldBatches);
  result.first_program = program_text(build_plan(plan.spec, plan.facts, options));
  result.passes = plan.passes;
  result.decode = decode_notes(plan);
  result.plan = explain(run);

  const ExecutionSpec& requested = settings.pipeline.execution;
  result.chosen = {threads(requested, run.execution, topology),
                   prefetch(requested, run.execution, result),
                   read_ahead(run.execution),
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

std::string to_summary(const ExplainResult& result) {
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<11} {}\n", name, printable(value));
  };
  line("data", fmt::format("{}: {}, {} samples, {} classes", name_of_sources(result.settings.pipeline), result.format,
                           result.samples, result.classes));
  line("operations", operations_line(result));
  line("output", value_and_reason(chosen(result, "output")));
  line("batch", fmt::format("{} samples: {}", chosen(result, "batch.size").value, chosen(result, "batch.size").reason));
  line("memory",
       fmt::format("{} per batch, {} in total", format_bytes(result.batch_bytes), format_bytes(result.memory_bytes)));
  line("threads", value_and_reason(chosen(result, "execution.threads")));
  line("prefetch", fmt::format("{} batches, read_ahead {} records", chosen(result, "execution.prefetch").value,
                               chosen(result, "execution.read_ahead").value));
  line("cache", value_and_reason(chosen(result, "cache.what")));
  line("decode", decode_line(result));
  line("passes", passes_line(result));
  return text;
}

std::string to_programs(const ExplainResult& result) {
  std::string text = fmt::format("before all passes\n    {}\n", printable(result.first_program));
  for (const PassNote& pass : result.passes)
    text += fmt::format("{}{}\n    {}\n", pass.name, pass.applied ? "" : ": not applied",
                        printable(pass.applied ? pass.program : pass.reason));
  return text;
}

std::string to_text(const ExplainResult& result) {
  std::string text = "settings\n" + indented(to_yaml(result.settings), 2) + "plan\n" + indented(result.plan, 2);
  text += fmt::format("  memory      {} per batch, {} in total\n", format_bytes(result.batch_bytes),
                      format_bytes(result.memory_bytes));
  std::size_t names = 0, values = 0;
  for (const ExplainedSetting& setting : result.chosen) {
    names = std::max(names, setting.name.size());
    values = std::max(values, setting.value.size());
  }
  text += "chosen\n";
  for (const ExplainedSetting& setting : result.chosen)
    text += fmt::format("  {:<{}}  {:<{}}  {}\n", setting.name, names, setting.value, values, setting.reason);
  return text;
}

std::string to_json(const ExplainResult& result) {
  Json json;
  json["settings"] = yaml_to_json(to_yaml(result.settings));
  Json& plan = json["plan"];
  plan["format"] = result.format;
  plan["samples"] = result.samples;
  plan["classes"] = result.classes;
  plan["encoded"] = result.encoded;
  plan["image"] = json_of(result.image);
  plan["operations"] = Json::array();
  for (const ExplainedOperation& operation : result.operations) {
    plan["operations"].push_back({{"name", operation.spec.name},
                                  {"params", json_of(operation.spec.params)},
                                  {"input", json_of(operation.input)},
                                  {"output", json_of(operation.output)},
                                  {"random", operation.random}});
  }
  plan["sample_size"] = json_of(result.sample_size);
  plan["batch"] = result.settings.pipeline.batch.size;
  plan["batches"] = result.batches;
  plan["batch_bytes"] = result.batch_bytes;
  plan["memory_bytes"] = result.memory_bytes;
  json["passes"] = Json::array();
  for (const PassNote& pass : result.passes) {
    json["passes"].push_back({{"name", pass.name},
                              {"applied", pass.applied},
                              {"exact", pass.exact},
                              {"error", pass.error},
                              {"reason", pass.reason}});
  }
  json["decode"] = Json::array();
  for (const DecodeNote& note : result.decode)
    json["decode"].push_back({{"name", note.name}, {"value", note.value}, {"reason", note.reason}});
  json["chosen"] = Json::array();
  for (const ExplainedSetting& setting : result.chosen)
    json["chosen"].push_back({{"name", setting.name}, {"value", setting.value}, {"reason", setting.reason}});
  return json_text(json, 2);
}

}  // namespace unstarve
