#pragma once
// `unstarve index DATA`: build the scan indexes of all JPEGs before the first epoch; the data does not change.
//
// Writes the file that a first epoch over the same path and split would write (storage/index/scan_index_store.h), so
// loaders use it without further options. Existing indexes, including those of packed shards, are kept; indexes that do
// not match their image are rebuilt. A notice explains why the index file of a shard is not used.
//
// Threads: one caller; starts its own workers.
// Failure: Error as open_dataset(); Error(kArgument) for data without encoded images or without a location where an
//          index file could be saved; Error(kIo) if no location is writable, the existing index file cannot be written,
//          or the disk is full. Unreadable images are counted and reported. Finished indexes stay, and the same call
//          continues after a kill at any moment.
// Cost:    reads every record and entropy-decodes each JPEG without an index.

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>

#include "unstarve/jobs/common/progress.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

struct IndexResult {
  std::string data;
  std::filesystem::path file;     // index file; empty if the shards contain all indexes
  std::uint64_t records = 0;      // processed
  std::uint64_t all_records = 0;  // of the dataset; more than `records` if a spec filters some out
  std::uint64_t built = 0;        // built by this call, including rebuilt ones
  std::uint64_t existing = 0;     // existing indexes
  std::uint64_t without = 0;  // images without an index: not JPEG, or JPEGs that the built-in decoder does not support
  std::uint64_t corrupt = 0;
  std::string first_corrupt;        // its location and reason
  std::uint64_t bytes_built = 0;    // of new indexes
  std::uint64_t bytes_indexed = 0;  // of the images of new indexes
  std::uint64_t bytes_read = 0;     // of all images
  double seconds = 0;
};

// Processes the records of `spec.source` or `spec.mix` that pass its filters. `threads` 0: every usable core.
[[nodiscard]] IndexResult run_index(const PipelineSpec& spec, int threads = 0, const Progress& progress = {},
                                    std::stop_token stop = {});

[[nodiscard]] std::string to_json(const IndexResult& result);
[[nodiscard]] std::string to_text(const IndexResult& result);

}  // namespace unstarve
