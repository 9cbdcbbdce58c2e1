#pragma once
// `unstarve inspect DATA`: what a data set is, and whether all of it can be used.
//
// Every record is read and decoded to its last pixel, so that damage shows here and not in mid-training.
//
// Threads:   one call; `progress` is called from several threads, one at a time.
// Failure:   as open_dataset(). A record that cannot be read or decoded is part of the result, not a failure. An
//            exception of `progress` (a cancelled run) stops the work and comes out of run_inspect().
// Cost:      one decode per record on every core; 24 bytes of memory per record.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "unstarve/core/image.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

struct CorruptRecord {
  std::uint64_t id = 0;
  RecordLocation location;
  std::string reason;
};

struct ClassCount {
  std::string name;
  std::uint64_t samples = 0;  // corrupt ones included where their label could be read
};

// Of all records that decode; by the number of pixels, the lower of the two middle ones for the median.
struct SizeSummary {
  Size smallest;
  Size median;
  Size largest;
};

struct InspectResult {
  std::string path;
  std::string format;
  std::uint64_t samples = 0;        // that were looked at
  std::uint64_t records = 0;        // of the data: more than `samples` where a spec leaves some out
  std::vector<ClassCount> classes;  // in the order of their numbers
  std::uint64_t bytes = 0;          // of all records that could be read, as stored
  SizeSummary sizes;
  std::map<std::string, std::uint64_t> encodings;  // "jpeg", "png", "raw": how many records that decode
  std::vector<CorruptRecord> corrupt;              // by id
  std::vector<std::string> notes;                  // Dataset::notes() when all was read
};

// Called with the number of records done and in all.
using InspectProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// `threads` 0: every usable core.
[[nodiscard]] InspectResult run_inspect(const std::string& path, const std::string& split = "", int threads = 0,
                                        const InspectProgress& progress = {});
// The same for a data set that is open already; `path` is what the result calls it. `samples`: which of its records are
// looked at (samples_of_sources()); null: all.
[[nodiscard]] InspectResult inspect_dataset(const Dataset& data, const std::string& path, int threads = 0,
                                            const InspectProgress& progress = {}, const SampleSet* samples = nullptr);

// One JSON object: path, format, samples, records, classes (their number), class_counts[] (name, samples), bytes, sizes
// (smallest, median, largest, each [width, height]; null when nothing decodes), encodings, corrupt[] (id, location,
// reason), notes[] (text: indexes that could not be kept).
[[nodiscard]] std::string to_json(const InspectResult& result);
// The same for people, some lines; at most `corrupt_shown` corrupt records are listed.
[[nodiscard]] std::string to_text(const InspectResult& result, std::size_t corrupt_shown = 20);

}  // namespace unstarve
