#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/pipeline/plan/edit.h"
#include "unstarve/pipeline/plan/pixel_cache_file.h"

namespace unstarve {
namespace {

// Bookkeeping of a cache per record, whether the record is cached or not.
constexpr std::uint64_t kTableBytesPerRecord = 40;

// Looks the sample up first, and inserts its pixels after the first `operations` operations.
void add_cache_steps(Plan& plan, std::size_t operations) {
  const auto next =
      operations < plan.spec.operations.size() ? Step(ApplyStep{static_cast<OpIndex>(operations)}) : Step(StoreStep{});
  insert_step(plan, index_of(plan, next), CacheInsertStep{});
  insert_step(plan, 0, CacheLookupStep{index_of(plan, next) + 1});
}

// Sets plan.cache; returns the reason.
Rewrite add_cache(Plan plan) {
  const CacheSpec& requested = plan.spec.cache;
  if (!plan.facts.encoded)
    throw Error(ErrorKind::kArgument,
                fmt::format("cache.what: {} stores samples as pixels; expected encoded images. Remove the cache.",
                            plan.facts.format));
  CachePlan cache;
  cache.what = requested.what;
  cache.budgeted = plan.memory.limit > 0 && requested.folder.empty();
  if (cache.budgeted) {
    cache.table_bytes = plan.facts.records * kTableBytesPerRecord;
    if (plan.memory.cache <= cache.table_bytes)
      return {std::move(plan), false, "no room for it within execution.memory_limit_mb"};
  }
  cache.limit_bytes = cache.budgeted ? plan.memory.cache - cache.table_bytes : requested.limit_mb * 1'000'000;
  const std::uint64_t limit_mb = cache.limit_bytes / 1'000'000;
  if (requested.what == CacheWhat::kEncoded) {
    plan.cache = std::move(cache);
    return {std::move(plan), true, fmt::format("encoded records, up to {} MB in memory", limit_mb)};
  }
  PixelCacheFile file = pixel_cache_file(plan);
  cache.operations = file.operations;
  cache.key = std::move(file.key);
  cache.file = std::move(file.path);
  plan.cache = std::move(cache);
  add_cache_steps(plan, plan.cache.operations);
  std::string reason =
      fmt::format("pixels after {} of {} operations, up to {} MB in {}", plan.cache.operations,
                  plan.spec.operations.size(), limit_mb, plan.cache.file.empty() ? "memory" : plan.cache.file.string());
  return {std::move(plan), true, std::move(reason)};
}

}  // namespace

Rewrite pass_cache(Plan plan, const RunOptions&) {
  const std::string choice = plan.cache_choice;
  if (plan.spec.cache.what == CacheWhat::kNothing)
    return {std::move(plan), false,
            choice.empty() ? "not requested by cache.what" : "none by cache.what auto: " + choice};
  Rewrite result = add_cache(std::move(plan));
  if (!choice.empty()) result.reason += "; by cache.what auto: " + choice;
  return result;
}

}  // namespace unstarve
