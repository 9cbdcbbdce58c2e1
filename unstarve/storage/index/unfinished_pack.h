#pragma once
// Whether shards lie in a folder that `unstarve pack` has not filled to its end: then some of the set may be missing.
//
// Threads: free function.

#include <span>
#include <string>
#include <vector>

namespace unstarve {

// The folder in DST where a pack keeps its state until all shards and the manifest are there (jobs/pack/pack_folder.h).
inline constexpr const char* kPackWorkName = ".unstarve-pack";

// A note for each folder of `shards` that holds one, also told to who runs the process (notice.h). Of URLs none.
// Cost: one stat for each folder.
[[nodiscard]] std::vector<std::string> note_unfinished_packs(std::span<const std::string> shards);

}  // namespace unstarve
