#include "unstarve/jobs/inference/evaluation_pipeline.h"

#include <algorithm>

#include "unstarve/jobs/settings/settings.h"

namespace unstarve {

PipelineSpec evaluation_pipeline(const EvaluationData& data, int size, int batch) {
  PipelineSpec spec = data.spec;
  if (spec.operations.empty()) spec.operations = evaluation_operations(size);
  const bool in_spec = data.is_spec && (!data.of_model || spec.output.normalisation != Normalisation());
  const Normalisation normalisation =
      in_spec ? spec.output.normalisation : data.of_model.value_or(output_for(size).normalisation);
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
  spec.execution.order = ExecutionOrder::kExact;
  spec.execution.prefetch = std::max(2, spec.execution.prefetch);
  return spec;
}

}  // namespace unstarve
