#include <fmt/format.h>

#include "unstarve/core/format_error.h"
#include "unstarve/pipeline/passes/make_plan.h"
#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/pipeline/plan/edit.h"
#include "unstarve/pipeline/plan/execution.h"
#include "unstarve/pipeline/plan/pixel_cache_file.h"
#include "unstarve/pipeline/spec/pass_switches.h"

namespace unstarve {
namespace {

// Looks the sample up first, and inserts its pixels after the first `operations` operations.
void add_cache_steps(Plan& plan, OpIndex operations) {
  const Step next = operations < plan.spec.operations.size() ? Step(ApplyStep{operations}) : plan.steps.back();
  insert_step(plan, index_of(plan, next), CacheInsertStep{});
  insert_step(plan, 0, CacheLookupStep{index_of(plan, next) + 1, operations});
}

Rewrite add_cache(Plan plan, const CacheRoom& room) {
  const CacheSpec& requested = plan.spec.cache;
  if (!plan.facts.encoded)
    throw argument_error("cache.what: {} stores samples as pixels; expected encoded images. Remove the cache.",
                         plan.facts.format);
  if (room.bytes == 0) return {std::move(plan), false, "no room for it within execution.memory_limit_mb"};
  const std::uint64_t limit_mb = room.bytes / 1'000'000;
  if (requested.what == CacheWhat::kEncoded) {
    plan.steps[index_of(plan, ReadStep{})] = ReadStep{true};
    return {std::move(plan), true, fmt::format("encoded records, up to {} MB in memory", limit_mb)};
  }
  const PixelCacheFile file = pixel_cache_file(plan);
  add_cache_steps(plan, static_cast<OpIndex>(file.operations));
  std::string reason =
      fmt::format("pixels after {} of {} operations, up to {} MB in {}", file.operations, plan.spec.operations.size(),
                  limit_mb, file.path.empty() ? "memory" : file.path.string());
  return {std::move(plan), true, std::move(reason)};
}

}  // namespace

CacheSpec requested_cache(const PipelineSpec& spec) { return is_enabled(spec, "cache") ? spec.cache : CacheSpec{}; }

Rewrite pass_cache(Plan plan, const PassContext& context) {
  const std::string choice(context.cache_choice);
  if (plan.spec.cache.what == CacheWhat::kNothing)
    return {std::move(plan), false, choice.empty() ? "no cache is requested" : "none by cache.what auto: " + choice};
  Rewrite result = add_cache(std::move(plan), context.execution.cache);
  if (!choice.empty()) result.reason += "; by cache.what auto: " + choice;
  return result;
}

}  // namespace unstarve
