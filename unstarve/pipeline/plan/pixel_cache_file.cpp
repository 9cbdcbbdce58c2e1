#include "unstarve/pipeline/plan/pixel_cache_file.h"

#include <fmt/format.h>

#include "unstarve/core/format_error.h"
#include "unstarve/ops/base/operation.h"
#include "unstarve/ops/schedule.h"
#include "unstarve/pipeline/plan/plan.h"
#include "unstarve/storage/bytes/crc.h"

namespace unstarve {

PixelCacheFile pixel_cache_file(const Plan& plan) {
  PixelCacheFile file;
  const auto& operations = plan.stages[0].operations;
  while (file.operations < operations.size() && !operations[file.operations]->random() &&
         !follows_schedule(plan.spec.operations[file.operations]))
    ++file.operations;
  if (const int after = plan.spec.cache.after; after >= 0) {
    if (static_cast<std::size_t>(after) > file.operations)
      throw Error(ErrorKind::kArgument,
                  file.operations < operations.size()
                      ? fmt::format("cache.after: {}; expected at most {}: {} differs from epoch to epoch", after,
                                    file.operations, plan.spec.operations[file.operations].name)
                      : fmt::format("cache.after: {}, but there are {} operations", after, file.operations));
    file.operations = static_cast<std::size_t>(after);
  }
  for (const SourceSpec& source : plan.spec.mix) file.key += fmt::format("{}\n{}\n", source.path, source.split);
  if (const std::string& labels = (plan.spec.mix.empty() ? plan.spec.source : plan.spec.mix[0]).labels; !labels.empty())
    file.key += fmt::format("labels {}\n", labels);
  file.key += fmt::format("{}\n{}\n{}\n{} {}\n", plan.spec.source.path, plan.spec.source.split, plan.facts.format,
                          plan.facts.records, plan.facts.stored_bytes);
  for (std::size_t i = 0; i < file.operations; ++i)
    file.key += plan.spec.operations[i].name + to_text(plan.spec.operations[i].params) + '\n';
  const CacheSpec& cache = plan.spec.cache;
  if (cache.folder.empty()) return file;
  const CacheFileFacts& facts = plan.facts.cache_file;
  if (!facts.known_by_path)
    throw argument_error(
        "cache.folder: a later run cannot recognise the images of {}; expected files or URLs. Remove cache.folder: the "
        "pixels are then cached in memory.",
        plan.facts.format);
  const auto bytes = std::span(reinterpret_cast<const std::uint8_t*>(file.key.data()), file.key.size());
  file.path =
      std::filesystem::path(cache.folder) / fmt::format("pixels-{:016x}-{:08x}-{}mb{}{}", facts.content, crc32(bytes),
                                                        cache.limit_mb, facts.host.empty() ? "" : "-", facts.host);
  return file;
}

}  // namespace unstarve
