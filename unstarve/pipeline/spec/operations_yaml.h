#pragma once
// Operations on samples or batches in YAML, with parameters and schedules. Private to pipeline/spec.
//
//   operations:
//     - resize: {size: [256, 192], interpolation: area}
//     - rand_augment: {magnitude: {schedule: {"0": 4, "30": 12}, between: linear}}
//
// Failure: Error(kInput) with the path of the node and its line.

#include <vector>

#include "unstarve/ops/base/op_value.h"
#include "unstarve/pipeline/spec/yaml_map.h"

namespace unstarve {

void write_operations(YAML::Emitter& out, const char* key, const std::vector<OpSpec>& operations);
// Appends the operations under `key` to `operations`; none if the key is absent.
void read_operations(YamlMap& map, const char* key, std::vector<OpSpec>& operations);

}  // namespace unstarve
