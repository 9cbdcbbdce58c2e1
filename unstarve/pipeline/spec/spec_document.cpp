#include "unstarve/pipeline/spec/spec_document.h"

#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/spec/check_spec.h"
#include "unstarve/pipeline/spec/spec_yaml.h"
#include "unstarve/pipeline/spec/yaml_map.h"

namespace unstarve {

SpecDocument read_spec_document(const std::string& text, const std::string& name) {
  const bool settings = YamlMap::parse(text, name.empty() ? "pipeline" : name).has("pipeline");
  YamlMap map = YamlMap::parse(text, !name.empty() ? name : settings ? "settings" : "pipeline");
  if (settings) check_settings_version(map);
  const YamlMap pipeline = settings ? map.map("pipeline") : map;
  if (settings) {
    std::string recipe;
    map.get("recipe", recipe);
    (void)map.map("train");
    (void)map.map("host");
    map.finish();
  }
  SpecDocument document{settings, read_pipeline_yaml(pipeline)};
  check_node(pipeline, [&] { check_spec(document.pipeline); });
  return document;
}

void check_settings_version(YamlMap& settings) {
  int version = 0;
  settings.get("unstarve", version);
  if (version != kSettingsVersion)
    settings.fail("unstarve", fmt::format("found version {}, expected {}", version, kSettingsVersion));
}

void check_node(const YamlMap& map, const std::function<void()>& check) {
  try {
    check();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kArgument) throw;
    const std::string message = error.what(), node = message.substr(0, message.find(": "));
    throw Error(ErrorKind::kInput, map.location(node) + message.substr(node.size()));
  }
}

void require_source(const PipelineSpec& pipeline) {
  if (pipeline.source.path.empty() && pipeline.mix.empty())
    throw Error(ErrorKind::kInput, pipeline.source.yaml_location.text + ": missing; expected the path of the data");
}

}  // namespace unstarve
