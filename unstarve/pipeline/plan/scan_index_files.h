#pragma once
// Where the scan indexes of a pipeline's images are cached (storage/index/scan_index_store.h).
//
// Threads: free function.

#include <filesystem>
#include <string>
#include <vector>

#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

// For smaller images, looking up the index takes as long as decoding.
inline constexpr std::int64_t kLeastIndexedPixels = 128 * 128;

struct ScanIndexFiles {
  std::vector<std::filesystem::path> candidates;  // the best one first
  std::string why_none;                           // reason if there is no candidate
};

// Depends on the paths and splits of the sources, which determine the number of each record.
[[nodiscard]] ScanIndexFiles scan_index_files(const PipelineSpec& spec);

}  // namespace unstarve
