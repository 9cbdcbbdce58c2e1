#pragma once
// The class names of a packed folder: tar and RecordIO shards hold class numbers only, the manifest.json that
// `unstarve pack` writes beside them holds the names.
//
// Threads: free function. Failure: Error(kIo) and Error(kInput), with the manifest's path, for one that cannot be read.

#include <span>
#include <string>
#include <vector>

namespace unstarve {

// Of the manifest in the folder of these shards, near or far, by class number; empty where there is none, or none that
// `unstarve pack` wrote, or one that does not list each of the shards. `shards` as open_bytes() takes them; those of
// URLs with a query are asked for none, since a query may be good for one object alone.
// Cost: of URLs a request, two where there is a manifest.
[[nodiscard]] std::vector<std::string> pack_classes(std::span<const std::string> shards);

}  // namespace unstarve
