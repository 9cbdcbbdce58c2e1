#include "unstarve/pipeline/executor/resources.h"

#include "unstarve/core/error.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {
namespace {

void open_cache(const Plan& plan, Resources& resources) {
  const CachePlan& cache = plan.cache;
  if (cache.what == CacheWhat::kNothing) return;
  if (cache.budgeted) (void)resources.cache_budget->take(cache.table_bytes);
  if (cache.what == CacheWhat::kEncoded) {
    resources.encoded_cache = cache.budgeted ? cache_encoded(resources.dataset, resources.cache_budget)
                                             : cache_encoded(resources.dataset, cache.limit_bytes);
    resources.dataset = resources.encoded_cache;
    return;
  }
  resources.pixel_cache = open_pixel_store(cache.file, cache.key, plan.facts.records, cache.limit_bytes,
                                           cache.budgeted ? resources.cache_budget : nullptr);
}

void open_scan_index(const Plan& plan, const RunData& data, Resources& resources) {
  try {
    resources.scan_index =
        ScanIndexStore::open(plan.facts.scan_index.files, plan.facts.records, 0, data.packed_indexes.parts);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kIo) throw;
    resources.notes.push_back(std::string("scan index not used: ") + error.what());
  }
}

}  // namespace

Resources open_resources(const Plan& plan, const RunData& data) {
  Resources resources{data.dataset, data.samples};
  if (plan.memory.limit > 0) {
    resources.cache_budget = std::make_shared<ByteBudget>(plan.memory.cache);
    resources.larger_images = std::make_shared<MemoryPool>(plan.memory.larger_images);
  }
  open_cache(plan, resources);
  for (const std::string& why : plan.facts.scan_index.not_used) emit_notice(why);
  if (uses_scan_index(plan)) open_scan_index(plan, data, resources);
  return resources;
}

}  // namespace unstarve
