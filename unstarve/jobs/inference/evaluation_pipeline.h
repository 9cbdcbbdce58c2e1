#pragma once
// Images for a trained model, prepared as the evaluation of `train` prepares them.
//
// Threads: pure.

#include <filesystem>

#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

struct EvaluationData {
  PipelineSpec spec;     // source, filters, operations, normalisation, errors
  bool is_spec = false;  // whether `spec` has operations and normalisation of its own
};

// One epoch in storage order: operations of the spec, else resize and centre crop to `size`; normalisation of the spec,
// else ImageNet's (CIFAR-10's for images up to 40 px); float32, N x 3 x H x W. The last batch may be smaller.
[[nodiscard]] PipelineSpec evaluation_pipeline(const EvaluationData& data, int size, int batch);

}  // namespace unstarve
