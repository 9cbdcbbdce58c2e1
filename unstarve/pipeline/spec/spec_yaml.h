#pragma once
// Pipeline specs as YAML. Reading a written spec gives an equal spec.
//
//   source: {path: photos/train, split: "", filter: {labels: [cat, dog], min_side: 64}, take: 1000}
//   mix:                                                 # instead of source: several sources
//     - {path: a, split: "", weight: 0.7, earlier_weights: [0.5]}
//     - {path: b, split: "", weight: 0.3, earlier_weights: [0.5], filter: {drop_labels: [other], max_aspect: 3}}
//   order: {shuffle: true, seed: 0, rank: 0, world: 1, window: 0, repeat: 1, epoch: 0, balance: false,
//           class_weights: {cat: 2}}
//   decode: {max_pixels: 268435456}
//   cache: {what: nothing, folder: "", limit_mb: 1024, after: -1}
//   operations:
//     - random_resized_crop: {size: 224}
//     - horizontal_flip: {probability: 0.5}
//   output: {type: uint8, layout: NCHW, mean: [...], std: [...]}
//   batch: {size: 256, last: drop, pad: {to: largest, value: 0}, bucket: {window: 8192, run: 0}}
//   batch_operations:
//     - mixup: {alpha: 0.2}
//   execution: {threads: 0, prefetch: 2, read_ahead: -1, pinned: true}
//   device: {name: cuda, operations: device, decode: hybrid, decode_share: 0.5}
//   errors: {policy: fail, limit: 1000, rate: 1}
//   passes: {crop_into_decode: false}
//
// Every key is optional; unknown and duplicate keys are errors. Failure: Error(kInput) with the path and line of the
// node.

#include <string>

#include "unstarve/pipeline/spec/spec.h"

namespace YAML {
class Emitter;
}

namespace unstarve {

class YamlMap;

void write_yaml(YAML::Emitter& out, const PipelineSpec& spec);  // a mapping
[[nodiscard]] PipelineSpec read_pipeline_yaml(YamlMap map);

// Reads a document that is one pipeline, in YAML or JSON. `name` identifies it in messages.
[[nodiscard]] PipelineSpec pipeline_from_yaml(const std::string& text, const std::string& name);
[[nodiscard]] std::string to_yaml(const PipelineSpec& spec);
// YAML is UTF-8, but paths and class names may be other bytes: write_yaml() and to_yaml() replace those by U+FFFD. Call
// this before saving a spec: it throws Error(kArgument), beginning with the node, for a text that is not UTF-8.
void check_utf8(const PipelineSpec& spec);

// The names in YAML.
[[nodiscard]] const char* to_string(OperationsOn operations);  // "host", "device"
[[nodiscard]] const char* to_string(DecodeOn decode);          // "host", "hybrid", "gpu_hybrid", "hardware"

}  // namespace unstarve
