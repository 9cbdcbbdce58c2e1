// Text and JSON of PackResult.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "unstarve/core/json.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/jobs/data/pack.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

std::vector<QuarantineEntry> all_skipped(const PackManifest& manifest) {
  std::vector<QuarantineEntry> all;
  for (const ShardEntry& entry : manifest.shards) all.insert(all.end(), entry.skipped.begin(), entry.skipped.end());
  return all;
}

std::uint64_t scan_index_bytes(const PackManifest& manifest) {
  std::uint64_t bytes = 0;
  for (const ShardEntry& entry : manifest.shards) bytes += entry.scan_index.bytes;
  return bytes;
}

std::string shards_text(std::uint64_t count) { return count == 1 ? "1 shard" : fmt::format("{} shards", count); }

}  // namespace

std::string to_json(const PackResult& result, const std::filesystem::path& folder) {
  const PackManifest& manifest = result.manifest;
  Json json = {{"path", folder.string()},
               {"format", manifest.format},
               {"complete", result.complete},
               {"records", manifest.records()},
               {"bytes", manifest.bytes()},
               {"scan_index_bytes", scan_index_bytes(manifest)},
               {"splits", splits_json(manifest)},
               {"shards", Json::array()},
               {"shards_total", result.shards_total},
               {"skipped", Json::array()},
               {"excluded", result.excluded},
               {"exclude_entries", result.exclude_entries},
               {"shards_made", result.shards_made},
               {"shards_found", result.shards_found},
               {"records_made", result.records_made},
               {"bytes_made", result.bytes_made},
               {"seconds", result.seconds}};
  for (const ShardEntry& entry : manifest.shards) json["shards"].push_back(entry.shard.file);
  for (const QuarantineEntry& record : all_skipped(manifest)) json["skipped"].push_back(to_json(record));
  return json_text(json, 2);
}

std::string to_text(const PackResult& result, const std::filesystem::path& folder) {
  const PackManifest& manifest = result.manifest;
  std::string text = fmt::format("{}: {} records in {}, {}, {}\n", printable(folder.string()), manifest.records(),
                                 shards_text(manifest.shards.size()), format_bytes(manifest.bytes()), manifest.format);
  for (const SplitCount& split : manifest.splits()) {
    text += fmt::format("  {:<11}{} records in {}, {}\n", split.name, split.records, shards_text(split.shards),
                        format_bytes(split.bytes));
  }
  if (result.shards_made + result.shards_found == 0) {
    text += "  none       of the shards belong to this part: there are fewer shards than parts\n";
  } else if (result.shards_made == 0) {
    text += "  already complete\n";
  } else {
    const double seconds = std::max(result.seconds, 1e-3);
    text += fmt::format("  written    {} in {:.1f} s: {} records/s, {}/s", shards_text(result.shards_made),
                        result.seconds, format_rate(static_cast<double>(result.records_made) / seconds),
                        format_bytes(static_cast<std::uint64_t>(static_cast<double>(result.bytes_made) / seconds)));
    text += result.shards_found > 0 ? fmt::format("; {} existed\n", result.shards_found) : "\n";
  }
  if (const std::uint64_t bytes = scan_index_bytes(manifest); bytes > 0)
    text += fmt::format("  indexes    of JPEG scans, {}\n", format_bytes(bytes));
  if (!result.complete) {
    text += fmt::format("  so far     {} of {} shards; the last part to finish writes the manifest\n",
                        manifest.shards.size(), result.shards_total);
  }
  if (result.exclude_entries > 0) {
    text += fmt::format("  excluded   {} records; {} entries in the list\n", result.excluded, result.exclude_entries);
  }
  const std::vector<QuarantineEntry> skipped = all_skipped(manifest);
  if (skipped.empty()) return text;
  constexpr std::size_t kShown = 20;
  text += fmt::format("  skipped    {}\n", skipped.size());
  for (std::size_t i = 0; i < std::min(skipped.size(), kShown); ++i) {
    text += fmt::format("    {}: {}\n", printable(location_text(skipped[i])), printable(skipped[i].reason));
  }
  if (skipped.size() > kShown) text += fmt::format("    ... and {} more, in --json\n", skipped.size() - kShown);
  return text;
}

}  // namespace unstarve
