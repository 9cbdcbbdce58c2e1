#pragma once
// The facts about the data that a plan depends on (gather_facts.h). Plain data, so that passes are pure functions and
// can be tested on any facts.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/codecs/common/image_header.h"

namespace unstarve {

// The first selected sample whose image can be read.
struct FirstImage {
  std::uint64_t id = 0;
  ImageHeader header;  // of stored pixels, only the size
};

// The largest record and image of a sample of the data.
struct LargestSample {
  std::uint64_t record_bytes = 0;
  Size image;
};

// Scan indexes (positions of JPEG rows) available for this data.
struct ScanIndexFacts {
  std::uint64_t packed_records = 0;            // of shards that were packed with an index
  std::vector<std::string> not_used{};         // index files that are not usable, each with its reason
  std::vector<std::filesystem::path> files{};  // candidates for a cached index, the best one first
  std::filesystem::path shown_file{};          // the first candidate that exists, else the best
  std::string why_no_file{};                   // reason if there is no candidate
};

// What the file of a pixel cache depends on. Not gathered without cache.folder.
struct CacheFileFacts {
  bool known_by_path = false;  // Dataset::known_by_path()
  std::uint64_t content = 0;   // content_stamp()
  std::string host{};          // the name of this one if hosts share the folder; else empty
};

struct DataFacts {
  std::string format;
  std::uint64_t records = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t samples = 0;  // selected records
  std::size_t classes = 0;
  bool encoded = false;  // the image field needs decoding
  int image_field = 0;
  int label_field = -1;  // -1: no label
  FirstImage first{};
  Size largest_output{};                   // over the selected samples if their output sizes vary; else 0 x 0
  std::optional<LargestSample> largest{};  // only under a memory limit
  int reads_in_flight = 0;                 // useful concurrent reads, as measured by the dataset
  int most_reads_in_flight = 0;            // maximum that may be useful later in the run
  ScanIndexFacts scan_index{};
  CacheFileFacts cache_file{};
};

}  // namespace unstarve
