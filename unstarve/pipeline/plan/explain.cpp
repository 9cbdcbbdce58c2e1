#include "unstarve/pipeline/plan/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/schedule.h"
#include "unstarve/pipeline/order/mixture.h"
#include "unstarve/pipeline/order/order.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/plan/decode_notes.h"
#include "unstarve/pipeline/plan/execution.h"
#include "unstarve/pipeline/plan/first_on_device.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/pipeline/spec/spec_yaml.h"

namespace unstarve {
namespace {

constexpr std::size_t kMaxListedGroups = 16;  // there may be thousands of classes

std::string explain_mixture(const PipelineSpec& spec, const SampleSet& samples) {
  const Mixture mixture(samples.weights());
  std::string text;
  for (std::size_t group = 0; group < samples.groups() && !spec.order.balance; ++group) {
    if (group == kMaxListedGroups) {
      text += fmt::format("mix         and {} more\n", samples.groups() - group);
      break;
    }
    text += fmt::format("mix         {} of each {} from {}, {} samples\n", mixture.quota(group), mixture.block(),
                        spec.mix[group].path, samples.group_size(group));
  }
  if (spec.order.balance)
    text += fmt::format("balance     {} classes, {}, in blocks of {} samples\n", samples.groups(),
                        spec.order.class_weights.empty() ? "equally often" : "by their weights", mixture.block());
  const std::string deviation =
      mixture.deviation() < 1e-9 ? "exactly the weights"
                                 : fmt::format("within {:.2g} % of a block of the weights", 100 * mixture.deviation());
  return text + fmt::format("            {}; an exhausted group restarts\n", deviation);
}

std::string explain_order(const PipelineSpec& spec, const SampleSet& samples, std::uint64_t length) {
  const OrderSpec& order = spec.order;
  std::string text;
  if (!samples.everything()) text += fmt::format("samples     {} of {} selected\n", samples.size(), samples.records());
  for (const std::string& note : samples.notes) text += "            " + note + "\n";
  text += fmt::format("order       {}, seed {}, rank {} of {}\n", order.shuffle ? "keyed permutation" : "storage order",
                      order.seed, order.rank, order.world);
  if (order.window > 0)
    text += fmt::format("            in windows of {} samples, made of runs of {} in storage order\n", order.window,
                        kWindowRun);
  if (!samples.weights().empty()) text += explain_mixture(spec, samples);
  if (order.repeat > 1 || order.epoch > 0) {
    text += fmt::format("epoch       {} samples", length);
    if (order.repeat > 1 && samples.weights().empty())
      text += fmt::format(", {} passes, each in a different order", order.repeat);
    text += '\n';
  }
  return text;
}

// The changes by schedules: one line for each of the first stages after epoch 0.
std::string explain_stages(const Plan& plan) {
  constexpr std::size_t kMostLines = 10;
  const std::vector<ScheduleStage>& stages = plan.stages;
  std::string text;
  for (std::size_t i = 1; i < std::min(stages.size(), kMostLines + 1); ++i) {
    const ScheduleStage &stage = stages[i], &before = stages[i - 1];
    std::string changed;
    const auto compare = [&](const OpSpec& old, const OpSpec& now) {
      if (now == old) return;
      OpParams params;
      for (const auto& [name, value] : now.params)
        if (value != old.params.at(name)) params[name] = value;
      changed += fmt::format("{}{}{}", changed.empty() ? "" : "; ", now.name, to_text(params));
    };
    for (std::size_t k = 0; k < stage.specs.size(); ++k) compare(before.specs[k], stage.specs[k]);
    for (std::size_t k = 0; k < stage.batch_specs.size(); ++k) compare(before.batch_specs[k], stage.batch_specs[k]);
    text += fmt::format("schedule    from epoch {}: {}; samples of {}x{}\n", stage.from_epoch, changed,
                        stage.sizes.back().width, stage.sizes.back().height);
  }
  if (stages.size() > kMostLines + 1)
    text += fmt::format("schedule    and {} more changes, the last from epoch {}\n", stages.size() - kMostLines - 1,
                        stages.back().from_epoch);
  return text;
}

std::string explain_padding(const Plan& plan, const SampleSet& samples) {
  const BatchSpec& batch = plan.spec.batch;
  const Size size = plan.sample_size();
  std::string text;
  if (batch.last == LastBatch::kPad)
    text += "last batch  filled up with repeated samples; `valid` marks its own samples\n";
  if (plan.padded())
    text += fmt::format("padding     with {} to {}\n", batch.pad.value,
                        batch.pad.to == PadTo::kLargest ? "the largest height and width in a batch"
                                                        : fmt::format("{}x{}", size.width, size.height));
  if (batch.bucket.window > 0)
    text += samples.sizes.empty() ? std::string("buckets     none: all samples have the same size\n")
                                  : fmt::format(
                                        "buckets     of similar sizes, within windows of {} samples; a resumed run "
                                        "forms the current window again\n",
                                        batch.bucket.window);
  return text;
}

// The work requested of the device; to_torch() does it, not this pipeline.
std::string explain_device(const PipelineSpec& spec) {
  const DeviceSpec& device = spec.device;
  if (device.operations == OperationsOn::kHost)
    return fmt::format("device      {}, to which to_torch() copies the batches\n", device.name);
  const std::size_t first = first_on_device(spec);
  std::string there = first == spec.operations.size()
                          ? "it normalises"
                          : fmt::format("it applies the operations from operations[{}] on", first);
  if (device.decode != DecodeOn::kHost)
    there += fmt::format(", and decodes by nvJPEG ({}), {}", to_string(device.decode),
                         device.decode_share ? fmt::format("{} of the files", *device.decode_share)
                                             : std::string("a share of the files chosen by measured rates"));
  return fmt::format("device      {}: {}, in to_torch(); here the host makes complete batches\n", device.name, there);
}

std::string text_of(const Plan& plan, const char* name, OpIndex op) {
  return fmt::format("{}({} {})", name, op, plan.spec.operations[op].name);
}

struct StepText {
  const Plan& plan;

  std::string operator()(const ReadStep& s) const { return s.cached ? "Read(cached)" : "Read"; }
  std::string operator()(const UsePixelsStep&) const { return "UsePixels"; }
  std::string operator()(const OpenStep&) const { return "Open"; }
  std::string operator()(const SelectStep& s) const { return text_of(plan, "Select", s.op); }
  std::string operator()(const SelectThroughStep& s) const {
    return fmt::format("SelectThrough({} {} through {})", s.op, plan.spec.operations[s.op].name, s.resize);
  }
  std::string operator()(const DecodeStep& s) const { return fmt::format("Decode({})", decode(s)); }
  std::string operator()(const DecodeResizeStep& s) const {
    return fmt::format("DecodeResize({}; {} {})", decode(s.decode), s.op, plan.spec.operations[s.op].name);
  }
  std::string operator()(const ApplyStep& s) const { return text_of(plan, "Apply", s.op); }
  std::string operator()(const MaterialiseStep&) const { return "Materialise"; }
  std::string operator()(const CacheLookupStep& s) const { return fmt::format("CacheLookup(hit: step {})", s.on_hit); }
  std::string operator()(const CacheInsertStep&) const { return "CacheInsert"; }
  std::string operator()(const StoreStep&) const { return "Store"; }

  std::string operator()(const CompactStep&) const { return "Compact"; }
  std::string operator()(const PadStep&) const { return "Pad"; }
  std::string operator()(const OneHotStep&) const { return "OneHot"; }
  std::string operator()(const BatchApplyStep& s) const {
    return fmt::format("Apply({} {})", s.op, plan.spec.batch_operations[s.op].name);
  }
  std::string operator()(const RepeatStep&) const { return "Repeat"; }

  static std::string decode(const DecodeStep& step) {
    std::string text = step.region == DecodeRegion::kSelected ? "selected" : "whole";
    if (step.reduction == Reduction::kAllowed) text += ", reduced";
    if (step.index == ScanIndexUse::kUse) text += ", scan index";
    return text;
  }
};

template <class Steps>
std::string list_of(const Plan& plan, const Steps& steps) {
  std::vector<std::string> texts;
  for (const auto& step : steps) texts.push_back(std::visit(StepText{plan}, step));
  return fmt::format("{}", fmt::join(texts, ", "));
}

// "image uint8 [32, 224, 224, 3], label int64 [32], ..."
std::string fields_text(const Plan& plan) {
  std::vector<std::string> texts;
  for (const BatchField& field : batch_fields(plan))
    texts.push_back(fmt::format("{} {} [{}]", field.name, field.type, fmt::join(field.shape, ", ")));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::string program_text(const Plan& plan) { return list_of(plan, plan.steps); }

std::string explain(const Plan& plan, const ExecutionPlan& execution, const SampleSet& samples, const Order& order) {
  const std::vector<Size>& sizes = plan.stages[0].sizes;
  const Size sample = plan.sample_size();
  std::string text = fmt::format("source      {}, {} samples, {}\n", plan.facts.format, plan.facts.records,
                                 plan.facts.encoded ? "encoded images" : "pixels");
  text += explain_order(plan.spec, samples, order.length());
  const auto size = [&](std::size_t i) { return fmt::format("{}x{}", sizes[i].width, sizes[i].height); };
  text += fmt::format("image       {}, the first that can be read\n", size(0));
  for (std::size_t i = 0; i < plan.spec.operations.size(); ++i) {
    const OpSpec& operation = plan.spec.operations[i];
    text += fmt::format("operation   {}{}: {} -> {}{}\n", operation.name, to_text(operation.params), size(i),
                        size(i + 1), plan.stages[0].operations[i]->random() ? ", random" : "");
  }
  text += explain_stages(plan);
  text += fmt::format("batch       {} x {}{}x{}, {} per epoch\n", plan.spec.batch.size,
                      plan.padded() || sample != sizes.back() ? "up to " : "", sample.width, sample.height,
                      order.batches_per_epoch());
  text += explain_padding(plan, samples);
  for (const OpSpec& operation : plan.spec.batch_operations)
    text += "on a batch  " + operation.name + to_text(operation.params) + '\n';
  text += fmt::format("execution   {} threads, {} batches prefetched, {} order{}\n", execution.threads,
                      execution.prefetch, plan.spec.execution.order == ExecutionOrder::kExact ? "exact" : "relaxed",
                      execution.tuned ? "; the starting point, autotuned during the run" : "");
  text += fmt::format("read-ahead  {}\n", execution.read_ahead_reason);
  if (plan.spec.device != DeviceSpec{}) text += explain_device(plan.spec);
  if (execution.memory.limit > 0) text += "memory      " + explain(execution.memory) + "\n";
  for (const PassNote& pass : plan.passes) {
    text +=
        fmt::format("pass        {} ({}{}): {}; {}\n", pass.name, pass.exact ? "exact" : "approximate: ", pass.error,
                    pass.applied ? "applied" : "not applied", pass.reason);
    if (pass.applied) text += fmt::format("            {}\n", pass.program);
  }
  for (const DecodeNote& note : decode_notes(plan))
    text += fmt::format("decode      {}: {}; {}\n", note.name, note.value, note.reason);
  text += "program     " + program_text(plan) + "\n";
  if (!plan.batch_steps.empty()) text += "program     per batch: " + list_of(plan, plan.batch_steps) + "\n";
  text += "fields      " + fields_text(plan) + "\n";
  return text;
}

}  // namespace unstarve
