#pragma once
// YAML documents that name a pipeline: a bare one, or settings as `tune --out` writes them. What is wrong with either,
// ranges included, is told with node and line.
//
//   source: {path: photos}              a bare pipeline (spec_yaml.h)
//   batch: {size: 64}
//
//   unstarve: 1                         settings (jobs/settings.h)
//   pipeline: {source: {path: photos}}
//   train: {...}
//
// Failure: Error(kInput).

#include <functional>
#include <string>

#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/pipeline/spec/yaml_map.h"

namespace unstarve {

inline constexpr int kSettingsVersion = 1;  // of the schema of settings

struct SpecDocument {
  bool settings = false;
  PipelineSpec pipeline;  // that check_spec() has nothing against
};

// `name` stands for the document in messages; without one they begin with "pipeline", or "settings" where it is that.
// `train` of settings is not looked at.
[[nodiscard]] SpecDocument read_spec_document(const std::string& text, const std::string& name);

// The key `unstarve` of settings: of this version.
void check_settings_version(YamlMap& settings);
// Runs a check of what was read from `map`: its Error(kArgument), whose message begins with the node, becomes an
// Error(kInput) with the node's path and line.
void check_node(const YamlMap& map, const std::function<void()>& check);
// Throws when the pipeline, one that was read, names no data.
void require_source(const PipelineSpec& pipeline);

}  // namespace unstarve
