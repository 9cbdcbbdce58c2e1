#pragma once
// The network of a file from which training begins, if it is not one of the zoo: its structure is in the file, or
// channels are removed from it (infer/pruning/prune_channels.h).
//
// Threads: any.
// Failure: Error(kInput) for a file that does not fit the settings; others as prune_channels().

#include <optional>

#include "unstarve/models/layers.h"
#include "unstarve/train/trainer.h"

namespace unstarve {

struct StartingNetwork {
  NetworkPtr network{};                    // on the CPU, with the weights of the file; null: that of settings.model
  std::optional<PrunedChannels> pruned{};  // if channels were removed now
};

[[nodiscard]] StartingNetwork starting_network(const TrainSettings& settings, const StartingFile& start);

}  // namespace unstarve
