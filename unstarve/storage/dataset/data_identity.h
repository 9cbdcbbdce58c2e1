#pragma once
// A fingerprint that distinguishes datasets with equal numbers of records: 8 bytes, four digests of 16 bits.
//
//   format | class names | where sources begin | names of shards and records
//
// The last digest covers, for shards, the file names and the number of records in each, in order; for records, the
// names and offsets of a few: the first and last of every source and some in between. It does not cover times, sizes
// and folders above a shard or class folder, so the identity is independent of the location of the data. Equal for
// equal data; two datasets that differ in only one of the four parts have equal identities with probability 1/65536.
//
// Threads: plain functions. Failure: none. Cost: about 20 record locations, and the names of all shards and classes.

#include <cstdint>
#include <string>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

// Never 0.
[[nodiscard]] std::uint64_t data_identity(const Dataset& data);
// What differs between two identities, for messages: "format, class names"; empty if they are equal.
[[nodiscard]] std::string identities_differ_in(std::uint64_t one, std::uint64_t other);

}  // namespace unstarve
