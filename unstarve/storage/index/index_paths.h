#pragma once
// Where the index of a dataset is stored, and the eviction of unused indexes.
//
//   the cache folder    $XDG_CACHE_HOME/unstarve/index (~/.cache/unstarve/index): by default
//   next to the data    "<path>.unstarve-index": for shards that `unstarve pack` wrote, and on request, which is
//                       keep_indexes_next_to() or the environment variable UNSTARVE_INDEX=next_to_data. If that folder
//                       cannot be written, in the cache folder. Never evicted
//
// An index that exists next to the data is used, and replaced there if it is stale.
//
// Eviction from the cache folder: indexes unused for 90 days; then, while the total is above 10 GiB, the least recently
// used, but none used within a day; partial files of a killed process after a day. The time of an index is set when it
// is written, and at most once a day when it is read. A process evicts when it first saves an index there, then at most
// once an hour. An evicted index costs one pass over the data.
//
// Threads and processes: any number. A process keeps the indexes that it has open; additions to an index (scan indexes)
//          that is evicted meanwhile are lost. Failure: none of eviction; files that cannot be removed stay.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/core/file.h"

namespace unstarve {

// The path of the index next to `data`: "<data>.unstarve-index".
[[nodiscard]] std::filesystem::path index_path(const std::filesystem::path& data);

// Requests that indexes of `data`, a path or pattern, and of everything below it are stored next to the data, for the
// life of the process. Ignored for URLs.
void keep_indexes_next_to(const std::string& data);

// The possible paths of the index of `name`, a path or URL, in order of preference; each `variant` ("" for the default)
// has its own. Empty if none is next to the data or requested there, and the environment names no cache folder.
[[nodiscard]] std::vector<std::filesystem::path> index_paths(const std::string& name, const std::string& variant = "");

struct SavedIndex {
  std::filesystem::path path;  // empty if it could not be written
  std::string failure;         // why the last path that was tried could not be written
};

// Writes `bytes` to the first of `paths` that can be written. Creates folders, except the folder of the data.
[[nodiscard]] SavedIndex save_index(const std::string& name, std::span<const std::filesystem::path> paths,
                                    std::string_view bytes, Durability durability = Durability::kSynced);

// The notice about an index that could not be saved.
[[nodiscard]] std::string not_saved(const std::string& name, const std::string& failure);

// Nothing if the environment does not name a cache folder.
[[nodiscard]] std::optional<std::filesystem::path> index_cache_folder();

// Call after reading or saving the index at `path`, in any folder.
void mark_index_used(const std::filesystem::path& path) noexcept;
void mark_index_saved(const std::filesystem::path& path) noexcept;

struct IndexCacheRule {
  std::int64_t max_age_ns = std::int64_t{90} * 24 * 3600 * 1'000'000'000;
  std::uint64_t max_bytes = std::uint64_t{10} << 30;
};

// Evicts from `folder`. `now_ns`: time since 1970.
void prune_index_cache(const std::filesystem::path& folder, const IndexCacheRule& rule, std::int64_t now_ns) noexcept;

}  // namespace unstarve
