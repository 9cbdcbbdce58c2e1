#pragma once
// Detects folders that `unstarve pack` has not completed, so that shards may be missing.
//
// Threads: free function.

#include <span>
#include <string>
#include <vector>

namespace unstarve {

// The folder in DST with the state of a pack until all shards and the manifest are written (jobs/pack/pack_folder.h).
inline constexpr const char* kPackWorkName = ".unstarve-pack";

// One note for each folder of `shards` with an unfinished pack, also emitted as a notice (notice.h). Ignores URLs.
// Cost: one stat for each folder.
[[nodiscard]] std::vector<std::string> note_unfinished_packs(std::span<const std::string> shards);

}  // namespace unstarve
