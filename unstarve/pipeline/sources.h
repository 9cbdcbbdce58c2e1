#pragma once
// The data that a spec names.

#include <memory>
#include <string>

#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/storage/dataset.h"

namespace unstarve {

// The data of spec.source, or of spec.mix as one (storage/concatenated.h). Throws as open_dataset() and concatenate().
[[nodiscard]] std::shared_ptr<const Dataset> open_sources(const PipelineSpec& spec);
// For titles: "photos/train", "a + b".
[[nodiscard]] std::string name_of_sources(const PipelineSpec& spec);

}  // namespace unstarve
