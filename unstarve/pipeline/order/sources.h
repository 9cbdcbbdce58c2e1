#pragma once
// The data that a spec names.

#include <memory>
#include <string>

#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

// The data of spec.source, or of spec.mix as one (storage/concatenated.h). Throws as open_dataset() and concatenate();
// what is wrong with a source that was written down begins with its place.
[[nodiscard]] std::shared_ptr<const Dataset> open_sources(const PipelineSpec& spec);
// The records of these data that the filters and takes of spec's sources leave, by id and each once, whatever order and
// weights draw them by. Throws as choose_samples().
[[nodiscard]] std::shared_ptr<const SampleSet> samples_of_sources(const PipelineSpec& spec, const Dataset& dataset,
                                                                  int threads);
// For titles: "photos/train", "a + b".
[[nodiscard]] std::string name_of_sources(const PipelineSpec& spec);

}  // namespace unstarve
