#include "unstarve/pipeline/spec/spec_document.h"

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/core/format_error.h"
#include "unstarve/pipeline/spec/check_spec.h"
#include "unstarve/pipeline/spec/spec_yaml.h"
#include "unstarve/pipeline/spec/yaml_map.h"

namespace unstarve {
namespace {

// Settings may have both: their network normalises uint8 pixels on the device.
void check_not_normalised(const StoreFormat& output) {
  if (output.type != ElementType::kUint8 || output.normalisation == Normalisation{}) return;
  throw argument_error(
      "output.type: uint8 with output.mean or output.std, whose results are not integers; expected float32, bfloat16 "
      "or float16, or neither mean nor std");
}

}  // namespace

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
  Faults faults;
  SpecDocument document{settings, read_pipeline_yaml(pipeline, faults)};
  faults.collect([&] {
    check_node(pipeline, [&] {
      check_spec(document.pipeline);
      if (!settings) check_not_normalised(document.pipeline.output);
    });
  });
  faults.throw_if_any();
  return document;
}

void check_settings_version(YamlMap& settings) {
  int version = 0;
  settings.get("unstarve", version);
  if (version != kSettingsVersion)
    settings.fail("unstarve", fmt::format("found version {}; expected {}", version, kSettingsVersion));
}

void check_node(const YamlMap& map, const std::function<void()>& check) {
  try {
    check();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kArgument) throw;
    const std::string message = error.what();
    std::string located;
    for (std::size_t begin = 0, end = 0; begin <= message.size(); begin = end + 1) {
      end = std::min(message.find('\n', begin), message.size());
      const std::string line = message.substr(begin, end - begin), node = line.substr(0, line.find(": "));
      located += (located.empty() ? "" : "\n") + map.location(node) + line.substr(node.size());
    }
    throw Error(ErrorKind::kInput, located);
  }
}

void require_source(const PipelineSpec& pipeline) {
  if (pipeline.source.path.empty() && pipeline.mix.empty())
    throw input_error("{}: missing; expected the path of the data", pipeline.source.yaml_location.text);
}

}  // namespace unstarve
