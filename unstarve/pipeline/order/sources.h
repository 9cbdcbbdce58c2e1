#pragma once
// Opens the datasets of a spec.

#include <memory>
#include <string>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

class SampleSet;
struct PipelineSpec;

// Opens spec.source, or spec.mix as one concatenated dataset. Throws as open_dataset() and concatenate(); messages
// about a source from a YAML file begin with its location.
[[nodiscard]] std::shared_ptr<const Dataset> open_sources(const PipelineSpec& spec);
// The records that filter and take of each source select, each once and independent of order and weights. `threads` 0:
// every usable core. Throws as choose_samples().
[[nodiscard]] std::shared_ptr<const SampleSet> samples_of_sources(const PipelineSpec& spec, const Dataset& dataset,
                                                                  int threads = 0);
// A title: "photos/train", "a + b".
[[nodiscard]] std::string name_of_sources(const PipelineSpec& spec);

}  // namespace unstarve
