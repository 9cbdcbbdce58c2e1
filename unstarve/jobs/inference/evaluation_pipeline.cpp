#include "unstarve/jobs/inference/evaluation_pipeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/infer/graph/normalisation_text.h"
#include "unstarve/jobs/settings/settings.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {
namespace {

// A spec without a normalisation has the default one, which changes nothing.
bool decides(const EvaluationData& data) {
  return data.is_spec && (!data.of_model || data.spec.output.normalisation != Normalisation());
}

}  // namespace

PipelineSpec evaluation_pipeline(const EvaluationData& data, int size, int batch) {
  PipelineSpec spec = data.spec;
  if (spec.operations.empty()) spec.operations = evaluation_operations(size);
  const Normalisation normalisation =
      decides(data) ? spec.output.normalisation : data.of_model.value_or(output_for(size).normalisation);
  spec.output = {ElementType::kFloat32, Layout::kNchw, normalisation};
  for (SourceSpec& source : spec.mix) {
    source.weight.reset();
    source.earlier_weights.clear();
  }
  spec.order = {};
  spec.order.shuffle = false;
  spec.batch = {batch, LastBatch::kKeep};
  spec.batch_operations.clear();
  spec.cache = {};
  spec.device = {};
  if (spec.errors.policy == OnError::kReplace) spec.errors.policy = OnError::kSkip;  // none counts twice
  spec.execution.order = ExecutionOrder::kExact;
  spec.execution.prefetch = std::max(2, spec.execution.prefetch);
  return spec;
}

void notice_other_normalisation(const EvaluationData& data) {
  if (!data.of_model || !decides(data) || data.spec.output.normalisation == *data.of_model) return;
  emit_notice(fmt::format("the spec normalises images with {}; the model was trained with {}",
                          infer::text_of(data.spec.output.normalisation), infer::text_of(*data.of_model)));
}

}  // namespace unstarve
