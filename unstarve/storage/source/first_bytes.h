#pragma once
// The format whose magic a file's first bytes are, as the formats' own predicates tell: by which a shard that was named
// among those of another format is refused instead of read as one damaged record.
//
// Threads: a pure function.

#include <cstdint>
#include <span>
#include <string_view>

namespace unstarve {

// How many tell: a tar header's block.
inline constexpr std::size_t kFirstBytes = 512;

// "webdataset", "tfrecord", "recordio", "parquet", "npy" or "idx", as the formats call themselves; "" where the bytes
// (decompressed, kFirstBytes or fewer) are none's without doubt.
[[nodiscard]] std::string_view format_of_first_bytes(std::span<const std::uint8_t> front);

}  // namespace unstarve
