#pragma once
// YAML files that may stand where data is expected: settings as `tune` writes them, and bare pipelines.
//
//   pipeline: {source: {path: photos}, ...}     settings: a mapping with `pipeline:`, see settings.h
//   source: {path: photos}                      a bare pipeline: a mapping with `source:`, see spec_document.h
//
// Failure: Error(kInput) with the file, the path of the node and, where it is known, its line; Error(kIo).

#include <string>

#include "unstarve/jobs/settings/settings.h"

namespace unstarve {

enum class SpecKind { kNone, kPipeline, kSettings };

struct SpecFile {
  SpecKind kind = SpecKind::kNone;
  std::string reason;  // of kNone, where the file's name promises YAML: why it is no spec
};

// A spec is a regular file, *.yaml or *.yml, that holds one of the mappings above; anything else is data.
[[nodiscard]] SpecFile look_at_spec(const std::string& path);

// The pipeline of either kind, which names its data. Precondition: look_at_spec() found one.
[[nodiscard]] PipelineSpec load_pipeline(const std::string& path);

// A bare pipeline, and the training that default_settings() would choose for what comes out of it.
[[nodiscard]] Settings settings_for(const PipelineSpec& pipeline, const Dataset& dataset, const std::string& model,
                                    const std::string& device);

}  // namespace unstarve
