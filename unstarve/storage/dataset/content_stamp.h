#pragma once
// A digest that changes when a dataset's records are replaced, as far as this shows without reading them: 64 bits of
//
//   the path or URL and the name of every record, in order; of shards: of every shard with its number of records
//   size and time of change of every local shard and manifest, and of up to 128 records that are local files, spread
//   over the data; the version of every shard on a server
//
// Files that are overwritten in place are therefore not noticed if they are a few among many, or on a server.
// data_identity.h is the same for data at another location; this is not.
//
// Threads: a plain function. Failure: none; files that cannot be examined count by their names. Cost: a record location
// per file (0.3 s for a million), 130 calls of stat().

#include <cstdint>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

// Precondition: data.known_by_path().
[[nodiscard]] std::uint64_t content_stamp(const Dataset& data);

}  // namespace unstarve
