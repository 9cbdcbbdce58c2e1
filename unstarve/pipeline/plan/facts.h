#pragma once
// What a plan knows of its data: plain values, gathered once, so that passes are pure functions and can be tested on
// made-up facts.
//
// Threads: plain data; gather_facts() is called by one thread.
// Failure: gather_facts() throws Error(kInput) for data without an image field or without a readable image.
// Cost:    reads the first readable record; under a memory limit up to 64 records.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/codecs/decoder.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/spec/spec.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/index/scan_index_file.h"

namespace unstarve {

// The first selected sample whose image can be read.
struct FirstImage {
  std::uint64_t id = 0;
  ImageHeader header;  // of stored pixels, only the size
};

// The largest record and image among those that were looked at.
struct LargestSample {
  std::uint64_t record_bytes = 0;
  Size image;
};

// Scan indexes (positions of JPEG rows) available for these data.
struct ScanIndexFacts {
  std::uint64_t packed_records = 0;            // of shards that were packed with an index
  std::vector<std::string> not_used{};         // index files that are not usable, each with its reason
  std::vector<std::filesystem::path> files{};  // candidates for a cached index, the best one first
  std::filesystem::path shown_file{};          // the first of them that exists, else the best
  std::string why_no_file{};                   // where there is no candidate
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
  Size largest_output{};                   // over selected samples whose output sizes vary; else 0 x 0
  std::optional<LargestSample> largest{};  // only under a memory limit
  int reads_in_flight = 0;                 // concurrent reads that pay off, as measured by the dataset
  int most_reads_in_flight = 0;            // that may pay off later in the run
  ScanIndexFacts scan_index{};
};

// The data of one run: what a plan is applied to.
struct RunData {
  std::shared_ptr<const Dataset> dataset;
  std::shared_ptr<const SampleSet> samples;
  BroughtIndexes packed_indexes{};  // scan indexes of the shards
};

// Fills data.packed_indexes where the spec may need them.
[[nodiscard]] DataFacts gather_facts(const PipelineSpec& spec, RunData& data);

}  // namespace unstarve
