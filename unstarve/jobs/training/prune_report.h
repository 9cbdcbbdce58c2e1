#pragma once
// What a run pruned, as text and JSON, for `unstarve train`.
//
// Threads: pure functions.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "unstarve/train/pruning.h"

namespace unstarve {

// Three lines: the sparsity with the layers that stayed dense, the sizes, and what sparsity does not change. Of removed
// channels two: what remains, and the sizes.
[[nodiscard]] std::string to_text(const PruneResult& result, const PruneSettings& settings);
// {sparsity, target, pattern: null without one, weights, zeros, sizes: {float32_bytes, zip_bytes}, layers: [{name,
// weights, zeros, sparsity}], dense: [{name, reason}]}; weights and zeros are those of `layers`. Of removed channels
// {target, pattern: "channels", sizes} and those of common/pruned_channels.h.
[[nodiscard]] nlohmann::ordered_json to_json(const PruneResult& result, const PruneSettings& settings);

}  // namespace unstarve
