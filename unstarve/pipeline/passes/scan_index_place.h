#pragma once
// Where the scan indexes of a pipeline's images are kept (storage/index/scan_index_store.h).
//
// Threads: free function.

#include <filesystem>
#include <vector>

#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

// Images of fewer pixels are decoded in the time that finding their index takes.
inline constexpr std::int64_t kLeastIndexedPixels = 128 * 128;

struct ScanIndexPlaces {
  std::vector<std::filesystem::path> places;  // the best one first
  std::string why_none;                       // where there is no place
};

// Of the sources that `spec` names: by their paths and splits, which together tell which record has which number.
[[nodiscard]] ScanIndexPlaces scan_index_places(const PipelineSpec& spec);

}  // namespace unstarve
