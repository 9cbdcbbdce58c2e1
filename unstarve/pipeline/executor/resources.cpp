#include "unstarve/pipeline/executor/resources.h"

#include "unstarve/core/error.h"
#include "unstarve/pipeline/plan/pixel_cache_file.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {
namespace {

void open_cache(const Plan& plan, const CacheRoom& room, Resources& resources) {
  const CacheWhat what = cached(plan);
  if (what == CacheWhat::kNothing) return;
  if (room.shared) (void)resources.cache_budget->take(room.table_bytes);
  if (what == CacheWhat::kEncoded) {
    resources.encoded_cache = room.shared ? cache_encoded(resources.dataset, resources.cache_budget)
                                          : cache_encoded(resources.dataset, room.bytes);
    resources.dataset = resources.encoded_cache;
    return;
  }
  const PixelCacheFile file = pixel_cache_file(plan);
  resources.pixel_cache = open_pixel_store(file.path, file.key, plan.facts.records, room.bytes,
                                           room.shared ? resources.cache_budget : nullptr);
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

Resources open_resources(const Plan& plan, const ExecutionPlan& execution, const RunData& data) {
  Resources resources{data.dataset, data.samples};
  if (execution.memory.limit > 0) {
    resources.cache_budget = std::make_shared<ByteBudget>(execution.memory.cache);
    resources.larger_images = std::make_shared<ImageMemory>(execution.memory);
  }
  open_cache(plan, execution.cache, resources);
  for (const std::string& why : plan.facts.scan_index.not_used) emit_notice(why);
  if (uses_scan_index(plan)) open_scan_index(plan, data, resources);
  return resources;
}

}  // namespace unstarve
