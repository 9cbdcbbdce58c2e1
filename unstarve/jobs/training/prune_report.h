#pragma once
// What a run pruned, as text, JSON and a section of the report, for `unstarve train`.
//
// Threads: pure functions.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "unstarve/observe/curves.h"
#include "unstarve/train/pruning.h"

namespace unstarve {

// Three lines: the sparsity with the layers that stayed dense, the sizes, and what sparsity does not change. Of removed
// channels two: what remains, and the sizes.
[[nodiscard]] std::string to_text(const PruneResult& result, const PruneSettings& settings);
// {sparsity, target, pattern: null without one, weights, zeros, sizes: {float32_bytes, zip_bytes}, layers: [{name,
// weights, zeros, sparsity}], dense: [{name, reason}]}; weights and zeros are those of `layers`. Of removed channels
// {target, pattern: "channels", sizes} and those of common/pruned_channels.h.
[[nodiscard]] nlohmann::ordered_json to_json(const PruneResult& result, const PruneSettings& settings);
// Sparsity and sizes, and a table of the layers; of removed channels what remains, and the channels of each layer.
[[nodiscard]] CurveSection section_of(const PruneResult& result, const PruneSettings& settings);

}  // namespace unstarve
