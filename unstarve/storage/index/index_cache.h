#pragma once
// The cache folder of indexes, $XDG_CACHE_HOME/unstarve/index (~/.cache/unstarve/index), and its eviction, since no
// user would notice that it grows.
//
//   last use   an index's time stamp is set when it is written, and at most once a day when it is read
//   eviction   indexes unused for 90 days; then, while the total is above 10 GiB, the least recently used, but none
//              used within a day, so that data with larger indexes keep them; partial files of a killed process after
//              a day
//   schedule   when a process saves an index there for the first time, then at most once an hour: it lists the folder
//              with a stat of each entry
//
// An evicted index costs one pass over the data. Files next to data are never touched.
//
// Threads and processes: any number. A process keeps the indexes that it has open; additions to an index (scan indexes)
//          that is evicted meanwhile are lost. Failure: none; files that cannot be read or removed stay.

#include <cstdint>
#include <filesystem>
#include <optional>

namespace unstarve {

struct IndexCacheRule {
  std::int64_t max_age_ns = std::int64_t{90} * 24 * 3600 * 1'000'000'000;
  std::uint64_t max_bytes = std::uint64_t{10} << 30;
};

// Nothing if the environment does not name a folder.
[[nodiscard]] std::optional<std::filesystem::path> index_cache_folder();

// Call after reading the index at `path`, in any folder.
void mark_index_used(const std::filesystem::path& path) noexcept;
// Call after saving the index at `path`, in any folder. Prunes the cache folder if `path` is in it and it is time.
void mark_index_saved(const std::filesystem::path& path) noexcept;

// Evicts from `folder`. `now_ns`: time since 1970.
void prune_index_cache(const std::filesystem::path& folder, const IndexCacheRule& rule, std::int64_t now_ns) noexcept;

}  // namespace unstarve
