#pragma once
// The class names of a packed folder: tar and RecordIO shards contain only class numbers; the manifest.json that
// `unstarve pack` writes next to them has the names.
//
// Threads: free function. Failure: Error(kIo) and Error(kInput), with the manifest's path, if it cannot be read.

#include <span>
#include <string>
#include <vector>

namespace unstarve {

// The names by class number from the manifest in the folder or bucket of these shards; empty if there is none, if
// `unstarve pack` did not write it, or if it does not list all of `shards` (paths or URLs as for open_bytes()). URLs
// with a query have none, since a query may be valid for one object only.
// Cost: one request for URLs, two if there is a manifest.
[[nodiscard]] std::vector<std::string> pack_classes(std::span<const std::string> shards);

}  // namespace unstarve
