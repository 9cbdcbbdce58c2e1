#pragma once
// Pipeline specs as YAML (docs/reference/spec.md). Reading a written spec gives an equal spec.
//
//   source: {path: photos/train, split: ""}
//   operations:
//     - random_resized_crop: {size: 224}
//   batch: {size: 256, last: drop}
//
// Every key is optional; unknown and duplicate keys are errors. Some operations have names of other libraries too
// (ops/familiar_names.h). Failure: Error(kInput) with a line for each fault, which begins with the path and line of the
// node.

#include <string>
#include <string_view>

#include "unstarve/pipeline/spec/faults.h"
#include "unstarve/pipeline/spec/spec.h"

namespace YAML {
class Emitter;
}

namespace unstarve {

class YamlMap;

// A mapping, without its mapping `left_out`.
void write_yaml(YAML::Emitter& out, const PipelineSpec& spec, std::string_view left_out = "");
// Absent nodes keep their values in `defaults`; a list replaces theirs. Nodes with a fault, which is added to `faults`,
// keep theirs, too.
[[nodiscard]] PipelineSpec read_pipeline_yaml(const YamlMap& map, Faults& faults, PipelineSpec defaults = {});

// Reads a document that is one pipeline, in YAML or JSON. `name` identifies it in messages.
[[nodiscard]] PipelineSpec pipeline_from_yaml(const std::string& text, const std::string& name);
[[nodiscard]] std::string to_yaml(const PipelineSpec& spec, std::string_view left_out = "");
// YAML is UTF-8, but paths and class names may be other bytes: write_yaml() and to_yaml() replace those by U+FFFD. Call
// this before saving a spec: it throws Error(kArgument), beginning with the node, for a text that is not UTF-8.
void check_utf8(const PipelineSpec& spec);

// The names in YAML.
[[nodiscard]] const char* to_string(OperationsOn operations);  // "host", "device"
[[nodiscard]] const char* to_string(DecodeOn decode);          // "host", "hybrid", "gpu_hybrid", "hardware"

}  // namespace unstarve
