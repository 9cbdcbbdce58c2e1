// What explain() tells of a plan.
#include <fmt/format.h>

#include <algorithm>

#include "unstarve/ops/schedule.h"
#include "unstarve/pipeline/plan/decode_notes.h"
#include "unstarve/pipeline/device/device_operations.h"
#include "unstarve/pipeline/order/explain_order.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/pipeline/spec/spec_yaml.h"

namespace unstarve {
namespace {

// What changes by schedules, a line for each epoch from which on it does, the first ones.
std::string explain_stages(const Plan& plan) {
  constexpr std::size_t kMostLines = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(plan.later.size(), kMostLines); ++i) {
    const ChainStage& stage = plan.later[i];
    std::string changed;
    const auto compare = [&](const OpSpec& before, const OpSpec& now) {
      if (now == before) return;
      OpParams params;
      for (const auto& [name, value] : now.params)
        if (value != before.params.at(name)) params[name] = value;
      changed += fmt::format("{}{}{}", changed.empty() ? "" : "; ", now.name, to_text(params));
    };
    for (std::size_t k = 0; k < stage.specs.size(); ++k)
      compare(i == 0 ? at_epoch(plan.spec.operations[k], 0) : plan.later[i - 1].specs[k], stage.specs[k]);
    for (std::size_t k = 0; k < stage.batch_specs.size(); ++k)
      compare(i == 0 ? at_epoch(plan.spec.batch_operations[k], 0) : plan.later[i - 1].batch_specs[k],
              stage.batch_specs[k]);
    text += fmt::format("schedule    from epoch {}: {}; samples of {}x{}\n", stage.from, changed,
                        stage.sizes.back().width, stage.sizes.back().height);
  }
  if (plan.later.size() > kMostLines)
    text += fmt::format("schedule    and {} changes more, the last from epoch {}\n", plan.later.size() - kMostLines,
                        plan.later.back().from);
  return text;
}

// How batches come to one size; a line each.
std::string explain_padding(const Plan& plan) {
  const BatchSpec& batch = plan.spec.batch;
  std::string text;
  if (batch.last == LastBatch::kPad)
    text += "last batch  of full size, its samples repeated; `valid` tells how many are its own\n";
  if (plan.padded)
    text += fmt::format("padding     with {} to {}\n", batch.pad.value,
                        batch.pad.to == PadTo::kLargest
                            ? "the largest height and width in a batch"
                            : fmt::format("{}x{}", plan.sample_size.width, plan.sample_size.height));
  if (batch.bucket.window > 0)
    text += plan.samples->sizes.empty()
                ? std::string("buckets     nothing to group: all samples have one size\n")
                : fmt::format(
                      "buckets     of similar sizes, within windows of {} samples; a resumed run arranges one anew\n",
                      batch.bucket.window);
  return text;
}

// What the device that the batches are for is asked to do, and that it is not done here.
std::string explain_device(const PipelineSpec& spec) {
  const DeviceSpec& device = spec.device;
  if (device.operations == OperationsOn::kHost)
    return fmt::format("device      {}, where to_torch() brings them\n", device.name);
  const std::size_t first = first_on_device(spec);
  std::string there = first == spec.operations.size()
                          ? "it normalises"
                          : fmt::format("operations from operations[{}] on are its own", first);
  if (device.decode != DecodeOn::kHost)
    there += fmt::format(", and it decodes by nvJPEG ({}), {}", to_string(device.decode),
                         device.decode_share ? fmt::format("{} of the files", *device.decode_share)
                                             : std::string("files by measured rates"));
  return fmt::format("device      {}: {}, by to_torch(); here the host makes whole batches\n", device.name, there);
}

}  // namespace

std::string explain(const Plan& plan) {
  std::string text = fmt::format("source      {}, {} samples, {}\n", plan.dataset->format(), plan.dataset->size(),
                                 plan.encoded ? "encoded images" : "pixels");
  text += explain_order(plan.spec, *plan.samples, plan.order.length());
  const auto size = [&](std::size_t i) { return fmt::format("{}x{}", plan.sizes[i].width, plan.sizes[i].height); };
  text += fmt::format("image       {}, the first that can be read\n", size(0));
  for (std::size_t i = 0; i < plan.operations.size(); ++i) {
    const OpSpec& operation = plan.spec.operations[i];
    text += "operation   " + operation.name + to_text(operation.params);
    text += fmt::format(": {} -> {}{}\n", size(i), size(i + 1), plan.operations[i]->random() ? ", random" : "");
  }
  text += explain_stages(plan);
  text += fmt::format("batch       {} x {}{}x{}, {} per epoch\n", plan.spec.batch.size,
                      plan.padded || plan.sample_size != plan.sizes.back() ? "up to " : "", plan.sample_size.width,
                      plan.sample_size.height, plan.order.batches_per_epoch());
  text += explain_padding(plan);
  for (const OpSpec& operation : plan.spec.batch_operations) {
    text += "on a batch  " + operation.name + to_text(operation.params) + '\n';
  }
  text += fmt::format("execution   {} threads, {} batches ahead, {} order{}\n", plan.spec.execution.threads,
                      plan.spec.execution.prefetch,
                      plan.spec.execution.order == ExecutionOrder::kExact ? "exact" : "relaxed",
                      plan.tuned ? "; to begin with, tuned while it runs" : "");
  if (plan.spec.device != DeviceSpec{}) text += explain_device(plan.spec);
  if (plan.memory.limit > 0) text += "memory      " + explain(plan.memory) + "\n";
  for (const auto& pass : plan.passes)
    text +=
        fmt::format("pass        {} ({}{}): {}; {}\n", pass.name, pass.exact ? "exact" : "approximate: ", pass.error,
                    pass.applied ? "applied" : "not applied", pass.reason);
  for (const DecodeNote& note : decode_notes(plan))
    text += fmt::format("decode      {}: {}; {}\n", note.name, note.value, note.reason);
  return text;
}

}  // namespace unstarve
