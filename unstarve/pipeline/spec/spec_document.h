#pragma once
// YAML documents with a pipeline: a pipeline alone, or settings as written by `tune --out`. Error messages name the
// node and the line, also for values out of range.
//
//   source: {path: photos}              a pipeline alone (spec_yaml.h)
//   batch: {size: 64}
//
//   unstarve: 1                         settings (jobs/settings)
//   pipeline: {source: {path: photos}}
//   train: {...}
//
// Failure: Error(kInput).

#include <functional>
#include <string>

#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

class YamlMap;

inline constexpr int kSettingsVersion = 1;  // version of the settings schema

struct SpecDocument {
  bool settings = false;
  PipelineSpec pipeline;  // accepted by check_spec(); alone, uint8 without mean and std
};

// `name` identifies the document in messages; if empty, messages begin with "pipeline" or "settings". Of settings, only
// `pipeline` is used: the section `train` and the name of the recipe are not checked.
[[nodiscard]] SpecDocument read_spec_document(const std::string& text, const std::string& name);

// Throws unless the key `unstarve` of settings has this version.
void check_settings_version(YamlMap& settings);
// Runs `check` on values read from `map`. An Error(kArgument), whose message begins with a node, becomes an
// Error(kInput) with the path and line of that node.
void check_node(const YamlMap& map, const std::function<void()>& check);
// Throws if a pipeline read from YAML has no path.
void require_source(const PipelineSpec& pipeline);

}  // namespace unstarve
