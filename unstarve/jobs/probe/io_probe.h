#pragma once
// `unstarve inspect DATA --io`: how many reads and bytes a second the place where a data set lies can deliver.
//
// Reads at random places of the data set's own files, by io_uring or a pread pool, with 1, 8 and 64 of them in flight:
// small ones (4 KiB, what a disk counts as operations) and large ones (128 KiB, about a photograph), first past the
// page cache and then out of it. Behind a URL, a pattern of URLs or a bucket's folder one object is read by ranges.
//
// Threads: one call. Failure: Error(kIo) for what cannot be read, Error(kInput) for a place with no file of 4 KiB.
// Cost: about `seconds` in all; what is read out of the page cache is read into it before.

#include <cstdint>
#include <string>
#include <vector>

#include "unstarve/jobs/common/progress.h"

namespace unstarve {

struct IoRow {
  std::string from;         // "disk" (past the page cache), "page cache" or "remote"
  std::uint64_t bytes = 0;  // of one read
  int in_flight = 1;
  double reads_per_s = 0;
  double bytes_per_s = 0;
};

struct IoResult {
  std::string path;
  std::string reader;       // "io_uring", "pread pool" or "ranges"
  std::uint64_t files = 0;  // that were read from
  std::uint64_t bytes = 0;  // of those files
  std::vector<IoRow> rows;
  std::string note;  // what could not be measured and why, or empty
};

[[nodiscard]] IoResult run_io_probe(const std::string& path, double seconds, const Progress& progress = {});

// One JSON object: path, reader, files, bytes, note, rows[] (from, bytes, in_flight, reads_per_s, bytes_per_s).
[[nodiscard]] std::string to_json(const IoResult& result);
[[nodiscard]] std::string to_text(const IoResult& result);

}  // namespace unstarve
