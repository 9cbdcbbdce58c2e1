#pragma once
// `unstarve inspect DATA --io`: measure the reads and bytes per second that the storage of a dataset delivers.
//
// Reads at random offsets of the dataset's files, by io_uring or a pread pool, with 1, 8 and 64 reads in flight: small
// reads (4 KiB, the unit of disk IOPS) and large reads (128 KiB, about one photograph), first bypassing the page cache,
// then from the page cache. For a URL, URL pattern or bucket folder, one object is read by ranges.
//
// Threads: one caller. Failure: Error(kIo) for unreadable files, Error(kInput) if no file has 4 KiB.
// Cost:    about `seconds`; page cache reads are preceded by a read that fills the cache.

#include <cstdint>
#include <string>
#include <vector>

#include "unstarve/jobs/common/progress.h"

namespace unstarve {

struct IoRow {
  std::string from;         // "disk" (bypassing the page cache), "page cache" or "remote"
  std::uint64_t bytes = 0;  // per read
  int in_flight = 1;
  double reads_per_s = 0;
  double bytes_per_s = 0;
};

struct IoResult {
  std::string path;
  std::string reader;       // "io_uring", "pread pool" or "ranges"
  std::uint64_t files = 0;  // used for reading
  std::uint64_t bytes = 0;  // of those files
  std::vector<IoRow> rows;
  std::string note;  // the measurement that is missing, with its reason; else empty
};

[[nodiscard]] IoResult run_io_probe(const std::string& path, double seconds, const Progress& progress = {});

// See "inspect --io" in docs/reference/json.md.
[[nodiscard]] std::string to_json(const IoResult& result);
[[nodiscard]] std::string to_text(const IoResult& result);

}  // namespace unstarve
