#pragma once
// The resources that a plan needs to run: dataset, caches, scan index and memory pools.
//
// Ownership: shared; a Resources object may be copied and outlives the programs that use it.
// Threads:   everything it refers to may be used by any thread.
// Failure:   open_resources() throws what opening a cache throws. A scan index that cannot be opened is left out, with
//            a note: decoding works without.

#include <memory>
#include <string>
#include <vector>

#include "unstarve/pipeline/executor/image_memory.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/plan/execution.h"
#include "unstarve/pipeline/plan/gather_facts.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/storage/cache/byte_budget.h"
#include "unstarve/storage/cache/encoded_cache.h"
#include "unstarve/storage/cache/pixel_store.h"
#include "unstarve/storage/index/scan_index_store.h"

namespace unstarve {

struct Resources {
  std::shared_ptr<const Dataset> dataset;  // the cache of encoded records, where the plan has one
  std::shared_ptr<const SampleSet> samples;
  std::shared_ptr<const EncodedCache> encoded_cache{};
  std::shared_ptr<const PixelStore> pixel_cache{};
  std::shared_ptr<ScanIndexStore> scan_index{};
  std::shared_ptr<ByteBudget> cache_budget{};  // under a memory limit: for a cache, and batches that the consumer keeps
  std::shared_ptr<ImageMemory> larger_images{};  // under a memory limit: for images beyond a worker's share
  std::vector<std::string> notes{};              // what could not be opened, and why
};

[[nodiscard]] Resources open_resources(const Plan& plan, const ExecutionPlan& execution, const RunData& data);

}  // namespace unstarve
