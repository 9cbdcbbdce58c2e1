#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/pipeline/passes/pixel_file.h"

namespace unstarve {
namespace {

// What a cache holds of every sample beside its bytes, kept or not.
constexpr std::uint64_t kTablePerSample = 40;

Decision keep(Plan& plan, const PassInput& input) {
  const CacheSpec& cache = plan.spec.cache;
  if (!plan.encoded)
    throw Error(ErrorKind::kArgument, "cache.what: the samples are stored as pixels, which need no cache");
  const bool limited = plan.memory.limit > 0 && cache.folder.empty();
  // Its bookkeeping is within its part of the memory limit.
  const std::uint64_t table = plan.dataset->size() * kTablePerSample;
  if (limited && plan.memory.cache <= table) {
    plan.spec.cache = {};
    return {false, "no room for it within execution.memory_limit_mb"};
  }
  if (limited) (void)plan.room->take(table);
  const std::uint64_t limit = limited ? plan.memory.cache - table : cache.limit_mb * 1'000'000;
  const std::uint64_t limit_mb = limit / 1'000'000;
  if (cache.what == CacheWhat::kEncoded) {
    if (input.caches == Caches::kOpened)
      plan.dataset = plan.encoded_cache =
          limited ? cache_encoded(plan.dataset, plan.room) : cache_encoded(plan.dataset, limit);
    return {true, fmt::format("encoded records, up to {} MB in memory", limit_mb)};
  }
  const PixelFile file = pixel_file_of(plan);
  plan.cached_operations = file.operations;
  if (input.caches == Caches::kOpened)
    plan.pixel_cache =
        open_pixel_store(file.path, file.key, plan.dataset->size(), limit, limited ? plan.room : nullptr);
  return {true, fmt::format("pixels after {} of {} operations, up to {} MB in {}", plan.cached_operations,
                            plan.operations.size(), limit_mb, file.path.empty() ? "memory" : file.path.string())};
}

Decision apply(Plan& plan, const PassInput& input) {
  const std::string& chosen = plan.cache_chosen;
  if (plan.spec.cache.what == CacheWhat::kNothing)
    return {false, chosen.empty() ? "not asked for by cache.what" : "none by cache.what auto: " + chosen};
  Decision decision = keep(plan, input);
  if (!chosen.empty()) decision.reason += "; by cache.what auto: " + chosen;
  return decision;
}

void leave_out(Plan& plan) { plan.spec.cache = {}; }

}  // namespace

const Pass kCachePass{"cache", true, "keeps records, or pixels before the first random operation", apply, leave_out};

}  // namespace unstarve
