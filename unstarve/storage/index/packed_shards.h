#pragma once
// Shards written by `unstarve pack`: their class names, and whether the pack was completed.
//
// Threads: free functions. Failure: Error(kIo) and Error(kInput), with the manifest's path, if it cannot be read.

#include <span>
#include <string>
#include <vector>

namespace unstarve {

// Tar and RecordIO shards contain only class numbers; the manifest.json next to them has the names.
//
// The names by class number from the manifest in the folder or bucket of these shards; empty if there is none, if
// `unstarve pack` did not write it, or if it does not list all of `shards` (paths or URLs as for open_bytes()). URLs
// with a query have none, since a query may be valid for one object only.
// Cost: one request for URLs, two if there is a manifest.
[[nodiscard]] std::vector<std::string> pack_classes(std::span<const std::string> shards);

// The folder in DST with the state of a pack until all shards and the manifest are written (jobs/pack/pack_folder.h).
inline constexpr const char* kPackWorkName = ".unstarve-pack";

// One note for each folder of `shards` with an unfinished pack, also emitted as a notice (notice.h). Ignores URLs.
// Cost: one stat for each folder.
[[nodiscard]] std::vector<std::string> note_unfinished_packs(std::span<const std::string> shards);

}  // namespace unstarve
