#include "unstarve/infer/engines/engine_table.h"

#include <fmt/format.h>

#include <utility>

#include "unstarve/core/module_loader.h"

namespace unstarve {

bool has_bfloat16(std::string_view engine) { return engine == "openvino" || engine == kReferenceEngine; }

EngineSettings supported_by(std::string_view engine, EngineSettings settings) {
  if (engine == kReferenceEngine) settings.streams = 1;
  if (!has_bfloat16(engine)) settings.precision = "float32";
  return settings;
}

std::vector<EngineCommand> engine_commands(const std::string& program) {
  const auto onnxruntime = [](const char* engine) -> std::vector<std::string> {
    return {python_interpreter().string(), "-P", "-c", std::string(onnxruntime_server()), engine};
  };
  return {{"openvino", {program, kEngineVerb, "openvino"}},
          {"onnxruntime", onnxruntime("onnxruntime")},
          {kGpuEngine, onnxruntime(kGpuEngine)},
          {kReferenceEngine, {program, kEngineVerb, kReferenceEngine}}};
}

std::vector<EngineCommand> engines_named(const std::string& name, const std::string& program) {
  std::vector<EngineCommand> all = engine_commands(program);
  if (name == "auto") {
    std::erase_if(all,
                  [](const EngineCommand& each) { return each.name == kReferenceEngine || each.name == kGpuEngine; });
    return all;
  }
  std::string names;
  for (EngineCommand& each : all) {
    if (each.name == name) return {std::move(each)};
    names += ", " + each.name;
  }
  throw Error(ErrorKind::kArgument, fmt::format("engine: found \"{}\"; expected auto{}", name, names));
}

}  // namespace unstarve
