#pragma once
// Where the index of a dataset is stored, and saving it there.
//
//   next to the data    "<path>.unstarve-index"
//   the cache folder    $XDG_CACHE_HOME/unstarve/index (~/.cache/unstarve/index), for URLs and for folders that
//                       cannot be written; unused indexes are evicted (index_cache.h)
//
// Threads: free functions.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/core/file.h"

namespace unstarve {

// The possible paths of the index of `name`, a path or URL, in order of preference; each `variant` ("" for the default)
// has its own. Empty only for data that have no path next to them if the environment names no cache folder.
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

}  // namespace unstarve
