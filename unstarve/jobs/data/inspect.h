#pragma once
// `unstarve inspect DATA`: describe a dataset and check that every record can be used.
//
// Every record is read and decoded completely, so that damage is found before training.
//
// Threads: one caller; starts its own workers.
// Failure: none for records that cannot be read or decoded: they are part of the result.
// Cost:    one decode per record on every core; 24 bytes of memory per record.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "unstarve/core/image.h"
#include "unstarve/jobs/common/progress.h"
#include "unstarve/storage/dataset/record_location.h"

namespace unstarve {

class Dataset;
class SampleSet;

struct CorruptRecord {
  std::uint64_t id = 0;
  RecordLocation location;
  std::string reason;
};

struct ClassCount {
  std::string name;
  std::uint64_t samples = 0;  // including corrupt ones with a readable label
};

// Of all decodable records, ordered by pixel count; the median is the lower of the two middle sizes.
struct SizeSummary {
  Size smallest;
  Size median;
  Size largest;
};

struct InspectResult {
  std::string path;
  std::string format;
  std::uint64_t samples = 0;        // inspected
  std::uint64_t records = 0;        // of the dataset; more than `samples` if a spec filters some out
  std::vector<ClassCount> classes;  // by class index
  std::string missing_labels;       // what the data contains instead of labels; empty if they have labels
  std::string label_choice;         // Dataset::label_choice()
  std::uint64_t bytes = 0;          // of all readable records, as stored
  SizeSummary sizes;
  std::map<std::string, std::uint64_t> encodings;  // "jpeg", "png", "raw": number of decodable records
  std::vector<CorruptRecord> corrupt;              // by id
  std::vector<std::string> notes;                  // Dataset::notes() after reading everything
};

// Inspects an open dataset that the result calls `path`. `threads` 0: every usable core. `samples`: the records to
// inspect (samples_of_sources()); null: all.
[[nodiscard]] InspectResult inspect_dataset(const Dataset& data, const std::string& path, int threads = 0,
                                            const Progress& progress = {}, const SampleSet* samples = nullptr);

// See "inspect" in docs/reference/json.md.
[[nodiscard]] std::string to_json(const InspectResult& result);
// A few lines of text; lists at most `corrupt_shown` corrupt records.
[[nodiscard]] std::string to_text(const InspectResult& result, std::size_t corrupt_shown = 20);

}  // namespace unstarve
