#pragma once
// Gathers the facts about the data of one run.
//
// Threads: one caller.
// Failure: Error(kInput) for data without an image field or without a readable image.
// Cost:    reads the first readable record; under a memory limit up to 64 records.

#include <memory>

#include "unstarve/pipeline/plan/facts.h"
#include "unstarve/storage/index/scan_index_file.h"

namespace unstarve {

class Dataset;
class SampleSet;
struct PipelineSpec;

// The data of one run.
struct RunData {
  std::shared_ptr<const Dataset> dataset;
  std::shared_ptr<const SampleSet> samples;
  PackedIndexes packed_indexes{};  // scan indexes of the shards
};

// Sets data.packed_indexes if the spec may use them.
[[nodiscard]] DataFacts gather_facts(const PipelineSpec& spec, RunData& data);

}  // namespace unstarve
