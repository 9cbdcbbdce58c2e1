#pragma once
// The plan: what will run, as a program. Made from a spec and facts about the data, then rewritten by passes.
//
//   spec ──make_plan()──▶ Plan ──pass──▶ Plan ... ──▶ executor (open_resources(), SampleProgram, Loader)
//
// The steps of a sample and of a batch are listed in step.h. A plan holds no data set, threads, buffers, caches or
// budgets; sizes, memory and explanation are functions of it.
//
// Threads: immutable after make_plan(); shared by all workers.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/batch/batch_operation.h"
#include "unstarve/ops/store/store.h"
#include "unstarve/pipeline/plan/execution.h"
#include "unstarve/pipeline/plan/facts.h"
#include "unstarve/pipeline/plan/memory_plan.h"
#include "unstarve/pipeline/plan/step.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

// The operations from an epoch on, until the next stage. A pipeline without schedules has one stage.
struct Stage {
  std::uint32_t from_epoch = 0;
  std::vector<OpSpec> specs;  // with the values of these epochs
  std::vector<std::shared_ptr<const Operation>> operations;
  std::vector<Size> sizes;  // of the first image, and after each operation
  std::vector<OpSpec> batch_specs;
  std::vector<std::shared_ptr<const BatchOperation>> batch_operations;
};

// The decision of one pass.
struct PassNote {
  std::string name;
  bool applied = false;
  bool exact = true;
  std::string reason;
  std::string_view error{};  // of approximate passes: the largest error
};

// The cache, resolved from the spec.
struct CachePlan {
  CacheWhat what = CacheWhat::kNothing;  // never kAuto
  std::uint64_t limit_bytes = 0;
  std::uint64_t table_bytes = 0;  // taken from the memory limit for bookkeeping; 0: not counted
  bool budgeted = false;          // shares the memory limit's cache part with batches that the consumer keeps
  std::size_t operations = 0;     // pixels: applied before they are cached
  std::string key{};              // pixels: everything that they depend on
  std::filesystem::path file{};   // pixels: empty for a cache in memory
};

struct Plan {
  PipelineSpec spec;  // as requested
  DataFacts data;
  std::vector<Stage> stages;  // ascending by epoch, the first from epoch 0
  std::vector<Step> steps;    // of each sample
  std::vector<BatchStep> batch_steps;
  StoreFormat output;
  ExecutionPlan execution;
  MemoryPlan memory;
  CachePlan cache;
  std::string cache_choice{};   // why, where cache.what is auto
  Size sample_size;             // the largest of any epoch
  bool delivers_files = false;  // some samples stay files, which a device decodes
  bool any_size = false;        // samples are made one by one and need not be equally large
  std::vector<PassNote> passes{};

  [[nodiscard]] const Stage& stage(std::uint32_t epoch) const;
  [[nodiscard]] bool padded() const { return spec.batch.pad.to != PadTo::kNothing; }
  // Classes of the targets; 0: batches have no targets.
  [[nodiscard]] std::size_t target_classes() const { return spec.batch_operations.empty() ? 0 : data.classes; }
  // The size of the samples of an epoch; of padded batches, the largest.
  [[nodiscard]] Size size_at(std::uint32_t epoch) const;
};

// The first step of type T; null: none.
template <class T>
[[nodiscard]] const T* find_step(const Plan& plan) {
  for (const Step& step : plan.steps)
    if (const T* const found = std::get_if<T>(&step)) return found;
  return nullptr;
}
// The decode step, alone or within a DecodeResizeStep; null: stored pixels.
[[nodiscard]] const DecodeStep* decode_step(const Plan& plan);
[[nodiscard]] DecodeStep* decode_step(Plan& plan);
// Whether some step uses a scan index.
[[nodiscard]] bool uses_scan_index(const Plan& plan);

// Bytes of one batch slot: pixels, labels, ids, targets, sizes, files, and one more sample where batches are padded.
[[nodiscard]] std::uint64_t batch_bytes(const Plan& plan);

}  // namespace unstarve
