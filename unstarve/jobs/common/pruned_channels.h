#pragma once
// Removed channels of a network as text and JSON, for `train` and `export`.
//
// Threads: pure functions.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "unstarve/train/pruning.h"

namespace unstarve {

// "33 424 384 multiply-adds to 16 294 528, 686 020 parameters to 321 892"
[[nodiscard]] std::string to_text(const PrunedChannels& channels);
// {multiply_adds, multiply_adds_after, parameters, parameters_after, layers: [{name, channels, channels_after, fixed:
// null, or why all of them remain}]}
[[nodiscard]] nlohmann::ordered_json to_json(const PrunedChannels& channels);

}  // namespace unstarve
