#pragma once
// The contents of a cache of pixels that a spec requests: the number of operations before it, and its file.
//
// Threads: pure. Failure: Error(kArgument) for a cache.after beyond the first random operation, and for cache.folder
//          with data that a later run cannot recognise.

#include <cstddef>
#include <filesystem>
#include <string>

namespace unstarve {

struct Plan;

struct PixelCacheFile {
  std::size_t operations = 0;  // applied before the pixels are cached; none of them random or scheduled
  std::string key;             // identifies everything that the pixels depend on
  std::filesystem::path path;  // in cache.folder, named after the key and the content of the data; empty: in memory
};

[[nodiscard]] PixelCacheFile pixel_cache_file(const Plan& plan);

}  // namespace unstarve
