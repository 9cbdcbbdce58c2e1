#pragma once
// YAML files that can be given instead of data: settings written by `tune`, and bare pipelines.
//
//   pipeline: {source: {path: photos}, ...}     settings: a mapping with `pipeline:`, see settings.h
//   source: {path: photos}                      a bare pipeline: a mapping with `source:`, see spec_document.h
//
// Failure: Error(kInput) with the file, the key and, if known, the line; Error(kIo).

#include <string>

#include "unstarve/jobs/settings/settings.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

enum class SpecKind { kNone, kPipeline, kSettings };

struct SpecFile {
  SpecKind kind = SpecKind::kNone;
  std::string reason;  // for kNone and a YAML file name: why the file is not a spec
};

// A spec is a regular file *.yaml or *.yml with one of the mappings above; anything else is data.
[[nodiscard]] SpecFile detect_spec(const std::string& path);

// The pipeline of a spec of either kind, including its source. Precondition: detect_spec() found a spec.
[[nodiscard]] PipelineSpec load_pipeline(const std::string& path);

// Whether this file has the element type, layout or normalisation of batches. Precondition: as above.
[[nodiscard]] bool has_output(const std::string& path);

// A bare pipeline with the training settings that default_settings() chooses for its output.
// Of a recipe, only the training settings are used, for the batch size of the pipeline.
[[nodiscard]] Settings settings_for(const PipelineSpec& pipeline, const Dataset& dataset, const std::string& model,
                                    const std::string& device, const std::string& recipe = "");

}  // namespace unstarve
