#pragma once
// `unstarve index DATA`: the scan index of every JPEG before the first epoch, for data that stay as they are.
//
// What it makes is the file that a first epoch over the same path and split would make (storage/index/
// scan_index_store.h), so that loaders take it without being told. Images that have their index already, and shards
// that brought theirs, are left as they are; one that does not fit its image any more is made again. Where a shard's
// file of them is not used, a notice tells why (notice.h).
//
// Threads:   one caller; workers of its own.
// Failure:   Error as open_dataset(); Error(kArgument) for data without encoded images or without a place beside which
//            an index could be kept; Error(kIo) when one is to be made and no place can be written, or the one that
//            holds others cannot, or the disk is full. Images that cannot be
//            read are counted and told, they fail nothing. What is made stays: the same call goes on from there, after
//            a kill at any moment.
// Cost:      every record is read, and each JPEG without an index entropy-decoded.

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>

#include "unstarve/jobs/common/progress.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

struct IndexingResult {
  std::string data;
  std::filesystem::path place;    // the file of indexes; empty where the shards have brought all
  std::uint64_t records = 0;      // that were looked at
  std::uint64_t all_records = 0;  // of the data: more where a spec leaves some out
  std::uint64_t made = 0;         // by this call, those that did not fit any more included
  std::uint64_t there = 0;        // were there already
  std::uint64_t without = 0;      // images that can have none: no JPEG, or none that our own decoder takes
  std::uint64_t corrupt = 0;
  std::string first_corrupt;        // its place and reason
  std::uint64_t bytes_made = 0;     // of indexes
  std::uint64_t bytes_indexed = 0;  // of the images that these are of
  std::uint64_t bytes_read = 0;     // of the images
  double seconds = 0;
};

// Of the data that `spec` names, those records that its filters and takes leave. `threads` 0: every usable core.
[[nodiscard]] IndexingResult run_indexing(const PipelineSpec& spec, int threads = 0, const Progress& progress = {},
                                          std::stop_token stop = {});

// {data, place, records, all_records, made, there, without, corrupt, first_corrupt, bytes_made, bytes_indexed,
// bytes_read, seconds}
[[nodiscard]] std::string to_json(const IndexingResult& result);
[[nodiscard]] std::string to_text(const IndexingResult& result);

}  // namespace unstarve
