#pragma once
// What tells data sets apart that have equally many records: 8 bytes, four digests of 16 bits.
//
//   format | class names | where sources begin | names of shards and records
//
// Of shards the file names and in which order how many records lie in each; of records the names and offsets of a few:
// the first and the last of every source, and some spread over all. No path above a file's class folder or shard, no
// time and no size of anything is in it, so that it is the same wherever the data lie. Equal for equal data; of two
// data sets that differ in one of the four alone, one pair in 65536 is taken for equal.
//
// Threads: plain functions. Failure: none. Cost: some 20 records' places, and all shards' and classes' names.

#include <cstdint>
#include <string>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

// Never 0.
[[nodiscard]] std::uint64_t data_identity(const Dataset& data);
// What two identities differ in, for people: "format, class names"; empty where they are equal.
[[nodiscard]] std::string identities_differ_in(std::uint64_t one, std::uint64_t other);

}  // namespace unstarve
