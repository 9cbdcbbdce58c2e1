#pragma once
// Which pixels a cache of them keeps: after how many operations, and under which name in a folder.

#include <cstddef>
#include <filesystem>
#include <string>

#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {

struct PixelFile {
  std::size_t operations = 0;  // before the first random one, done for the pixels that are kept
  std::string key;             // everything that these depend on
  std::filesystem::path path;  // in spec.cache.folder, of a name that follows from the key; empty: in memory
};

// Throws Error(kArgument) for a cache.after behind the first operation that is random.
[[nodiscard]] PixelFile pixel_file_of(const Plan& plan);

}  // namespace unstarve
