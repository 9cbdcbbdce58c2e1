#include "unstarve/infer/engines/engine_table.h"

#include <fmt/format.h>

#include "unstarve/core/module_loader.h"

namespace unstarve {

std::vector<EngineCommand> engine_commands(const std::string& program) {
  return {{"openvino", {program, kEngineVerb, "openvino"}},
          {"onnxruntime", {python_interpreter().string(), "-P", "-c", std::string(onnxruntime_server())}},
          {kReferenceEngine, {program, kEngineVerb, kReferenceEngine}}};
}

std::vector<EngineCommand> engines_named(const std::string& name, const std::string& program) {
  std::vector<EngineCommand> all = engine_commands(program);
  if (name == "auto") {
    all.pop_back();  // the reference
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
