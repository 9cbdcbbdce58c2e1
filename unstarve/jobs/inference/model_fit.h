#pragma once
// Whether a model, as an engine sees it, fits a task of this project: images in, classes out.
//
// `what` begins the messages: "infer model.onnx".
//
// Threads: pure. Failure: Error(kInput) if the model does not fit.

#include <cstdint>
#include <string>
#include <vector>

#include "unstarve/infer/engines/engine.h"
#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

// The shape of a sample: 3 x side x side. `image_size`: for a model without one; 0: that of the model.
[[nodiscard]] std::vector<std::int64_t> sample_shape(const std::string& what, const ModelFacts& model, int image_size);
// The number of outputs for a sample, at least two.
[[nodiscard]] std::size_t classes_of(const std::string& what, const CompiledFacts& compiled, int batch);
// Whether labels of the data are classes of the model. Emits a notice if the data has fewer classes.
[[nodiscard]] bool labels_fit(const std::string& what, const PipelineSpec& data, const Dataset& dataset,
                              std::size_t classes);

}  // namespace unstarve
