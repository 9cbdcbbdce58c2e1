#include "unstarve/pipeline/plan/build_plan.h"

#include "unstarve/core/format_error.h"
#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/batch/batch_operation.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/schedule.h"
#include "unstarve/pipeline/spec/check_spec.h"

namespace unstarve {
namespace {

std::vector<Step> sample_steps(const PipelineSpec& spec, bool encoded, const StoreStep& store) {
  std::vector<Step> steps{ReadStep{}};
  if (encoded) {
    steps.push_back(OpenStep{});
    steps.push_back(DecodeStep{});
  } else {
    steps.push_back(UsePixelsStep{});
  }
  for (OpIndex op = 0; op < spec.operations.size(); ++op) {
    steps.push_back(ApplyStep{op});
    steps.push_back(MaterialiseStep{});
  }
  steps.push_back(store);
  return steps;
}

std::vector<BatchStep> batch_steps(const PipelineSpec& spec) {
  std::vector<BatchStep> steps;
  if (spec.errors.policy == OnError::kSkip) steps.push_back(CompactStep{});
  if (spec.batch.pad.to != PadTo::kNothing) steps.push_back(PadStep{});
  if (!spec.batch_operations.empty()) steps.push_back(OneHotStep{});
  for (OpIndex op = 0; op < spec.batch_operations.size(); ++op) steps.push_back(BatchApplyStep{op});
  if (spec.batch.last == LastBatch::kPad) steps.push_back(RepeatStep{});
  return steps;
}

ScheduleStage make_stage(const PipelineSpec& spec, std::uint32_t epoch, Size image) {
  ScheduleStage stage{epoch, {}, {}, {image}, {}, {}};
  for (const OpSpec& operation : spec.batch_operations) {
    stage.batch_specs.push_back(at_epoch(operation, epoch));
    stage.batch_operations.push_back(make_batch_operation(stage.batch_specs.back()));
  }
  for (const OpSpec& operation : spec.operations) {
    stage.specs.push_back(at_epoch(operation, epoch));
    stage.operations.push_back(make_operation(stage.specs.back()));
    stage.sizes.push_back(stage.operations.back()->output_size(stage.sizes.back()));
  }
  return stage;
}

std::vector<ScheduleStage> make_stages(const PipelineSpec& spec, Size image) {
  if (const auto epoch = size_changes_from(spec); epoch && spec.batch.pad.to == PadTo::kLargest)
    throw argument_error(
        "batch.pad.to: largest, but a schedule changes the operations' output size from epoch {} on; expected a "
        "constant size. Set pad.to: size with the largest size of any epoch.",
        *epoch);
  std::vector<OpSpec> scheduled = spec.operations;
  scheduled.insert(scheduled.end(), spec.batch_operations.begin(), spec.batch_operations.end());
  std::vector<ScheduleStage> stages{make_stage(spec, 0, image)};
  for (const std::uint32_t epoch : changing_epochs(scheduled)) stages.push_back(make_stage(spec, epoch, image));
  return stages;
}

void check_targets(const Plan& plan) {
  if (plan.spec.batch_operations.empty()) return;
  if (plan.facts.label_field < 0 || plan.facts.classes == 0)
    throw argument_error(
        "batch_operations: {} has no class labels; batch operations need them. Use data with labels, or remove the "
        "batch operations.",
        plan.facts.format);
}

}  // namespace

Plan build_plan(PipelineSpec spec, DataFacts facts, const RunOptions& run) {
  Plan plan;
  plan.spec = std::move(spec);
  plan.facts = std::move(facts);
  check_targets(plan);
  plan.stages = make_stages(plan.spec, plan.facts.first.header.size);
  const StoreStep store{plan.spec.output, plan.padded() ? SampleSizes::kPadded : SampleSizes::kEqual,
                        run.on_device.decodes};
  plan.steps = sample_steps(plan.spec, plan.facts.encoded, store);
  plan.batch_steps = batch_steps(plan.spec);
  return plan;
}

}  // namespace unstarve
