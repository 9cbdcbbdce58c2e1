#pragma once
// Where the index of a data set is kept, and keeping it there.
//
//   beside the data     "<path>.unstarve-index"
//   the cache folder    $XDG_CACHE_HOME/unstarve/index (~/.cache/unstarve/index), for URLs and where the data lie in a
//                       folder that cannot be written; what nobody uses goes (index_cache.h)
//
// Threads: free functions.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/core/file.h"

namespace unstarve {

// Where the index of `name`, a path or URL, may lie, the best place first; each `variant` ("" for the usual one) has
// places of its own. Empty only for what has no place beside it where the environment tells no cache folder.
[[nodiscard]] std::vector<std::filesystem::path> index_places(const std::string& name, const std::string& variant = "");

struct IndexKeeping {
  std::filesystem::path place;  // where it was written, empty where nowhere
  std::string failed;           // why the (last) place that could not be written could not
};

// Writes `bytes` to the first of the places that can be written; of all but the one beside the data the folder is made.
[[nodiscard]] IndexKeeping keep_index(const std::string& name, std::span<const std::filesystem::path> places,
                                      std::string_view bytes, Durability durability = Durability::kSynced);

// The note of an index that could not be kept.
[[nodiscard]] std::string not_kept(const std::string& name, const std::string& failed);

}  // namespace unstarve
