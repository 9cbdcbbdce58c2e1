#pragma once
// Which pixels a cache holds: after how many operations, and in which file.
//
// Threads: pure. Failure: Error(kArgument) for a cache.after beyond the first operation that is random.

#include <cstddef>
#include <filesystem>
#include <string>

#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {

struct PixelCacheFile {
  std::size_t operations = 0;  // applied before the pixels are cached; none of them random or scheduled
  std::string key;             // everything that the pixels depend on
  std::filesystem::path path;  // in cache.folder, named after the key; empty: in memory
};

[[nodiscard]] PixelCacheFile pixel_cache_file(const Plan& plan);

}  // namespace unstarve
