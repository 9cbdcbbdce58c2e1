#pragma once
// Pipeline specs as YAML: what is written can be read back to an equal spec.
//
//   source: {path: photos/train, split: "", filter: {labels: [cat, dog], min_side: 64}, take: 1000}
//   mix:                                                 # in the place of source: several as one
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
// Every key may be left out; an unknown one is an error, and so is one that stands twice. Failure: Error(kInput) with
// the path of the node and its line.

#include <string>

#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/pipeline/spec/yaml_map.h"

namespace unstarve {

void write_yaml(YAML::Emitter& out, const PipelineSpec& spec);  // a mapping
[[nodiscard]] PipelineSpec read_pipeline_yaml(YamlMap map);

// A whole document that is one pipeline (JSON, being YAML, too). `name` stands for it in messages.
[[nodiscard]] PipelineSpec pipeline_from_yaml(const std::string& text, const std::string& name);
[[nodiscard]] std::string to_yaml(const PipelineSpec& spec);
// YAML is UTF-8, paths and names of classes need not be: write_yaml() and to_yaml() write U+FFFD for what is none. This
// throws Error(kArgument) then, beginning with the node; for whoever keeps the text.
void check_utf8(const PipelineSpec& spec);

// As they stand there.
[[nodiscard]] const char* to_string(OperationsOn operations);  // "host", "device"
[[nodiscard]] const char* to_string(DecodeOn decode);          // "host", "hybrid", "gpu_hybrid", "hardware"

}  // namespace unstarve
