#pragma once
// Images for a trained model, prepared as the evaluation of `train` prepares them.
//
// Threads: any.

#include <optional>

#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

struct EvaluationData {
  PipelineSpec spec;                        // source, filters, operations, normalisation, errors
  bool is_spec = false;                     // whether `spec` has operations and may have a normalisation of its own
  std::optional<Normalisation> of_model{};  // with which the model was trained; nothing: unknown
};

// One epoch in storage order: operations of the spec, else resize and centre crop to `size`; float32, N x 3 x H x W.
// The last batch may be smaller. The normalisation is the first that is known: that of the spec, of the model, or
// ImageNet's (CIFAR-10's for images up to 40 px; none for a spec). Bad samples are skipped instead of replaced.
[[nodiscard]] PipelineSpec evaluation_pipeline(const EvaluationData& data, int size, int batch);

// Emits a notice if the spec has another normalisation than the model.
void notice_other_normalisation(const EvaluationData& data);

}  // namespace unstarve
