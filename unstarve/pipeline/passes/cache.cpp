#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/storage/crc32.h"

namespace unstarve {
namespace {

// What a cache holds of every sample beside its bytes, kept or not.
constexpr std::uint64_t kTablePerSample = 40;

// Everything that the pixels in the cache depend on.
std::string cache_key(const Plan& plan) {
  const Dataset& data = *plan.dataset;
  std::string key;
  for (const SourceSpec& source : plan.spec.mix) key += fmt::format("{}\n{}\n", source.path, source.split);
  key += fmt::format("{}\n{}\n{}\n{} {}\n", plan.spec.source.path, plan.spec.source.split, data.format(), data.size(),
                     data.stored_bytes());
  for (std::size_t i = 0; i < plan.cached_operations; ++i) {
    key += plan.spec.operations[i].name;
    for (const auto& [name, values] : plan.spec.operations[i].params)
      key += fmt::format(" {}={}", name, fmt::join(values, ","));
    key += '\n';
  }
  return key;
}

Decision apply(Plan& plan, const PassInput& input) {
  const CacheSpec& cache = plan.spec.cache;
  if (cache.what == CacheWhat::kNothing) return {false, "not asked for by cache.what"};
  if (!plan.encoded)
    throw Error(ErrorKind::kArgument, "cache.what: the samples are stored as pixels, which need no cache");
  const bool limited = plan.memory.limit > 0 && cache.folder.empty();
  // Its bookkeeping is within its part of the memory limit.
  const std::uint64_t table = plan.dataset->size() * kTablePerSample;
  if (limited && plan.memory.cache <= table) return {false, "no room for it within execution.memory_limit_mb"};
  const std::uint64_t limit = limited ? plan.memory.cache - table : cache.limit_mb * 1'000'000;
  const std::uint64_t limit_mb = limit / 1'000'000;
  if (cache.what == CacheWhat::kEncoded) {
    if (input.caches == Caches::kOpened) plan.dataset = plan.encoded_cache = cache_encoded(plan.dataset, limit);
    return {true, fmt::format("encoded records, up to {} MB in memory", limit_mb)};
  }
  while (plan.cached_operations < plan.operations.size() && !plan.operations[plan.cached_operations]->random())
    ++plan.cached_operations;
  const std::string key = cache_key(plan);
  std::filesystem::path file;
  if (!cache.folder.empty()) {
    const auto bytes = std::span(reinterpret_cast<const std::uint8_t*>(key.data()), key.size());
    file = std::filesystem::path(cache.folder) / fmt::format("pixels-{:08x}-{}mb", crc32(bytes), cache.limit_mb);
  }
  if (input.caches == Caches::kOpened) plan.pixel_cache = open_pixel_store(file, key, plan.dataset->size(), limit);
  return {true, fmt::format("pixels after {} of {} operations, up to {} MB in {}", plan.cached_operations,
                            plan.operations.size(), limit_mb, file.empty() ? "memory" : file.string())};
}

void leave_out(Plan& plan) { plan.spec.cache = {}; }

}  // namespace

const Pass kCachePass{"cache", true, "keeps records, or pixels before the first random operation", apply, leave_out};

}  // namespace unstarve
