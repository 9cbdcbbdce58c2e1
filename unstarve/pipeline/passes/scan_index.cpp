#include <fmt/format.h>

#include <algorithm>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/pipeline/passes/scan_index_place.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {
namespace {

// What the data are called, and what else tells which records of them have which number. Empty: a name that is nobody's
// place (generated data, a program's own source).
std::string name_of(const PipelineSpec& spec, std::string& variant) {
  const auto has_place = [](const std::string& path) {
    std::error_code failed;
    return is_url(path) || std::filesystem::exists(path.substr(0, path.find('#')), failed) ||
           path.find_first_of("*?{") != std::string::npos;
  };
  std::string name;
  const auto add = [&](const SourceSpec& source) {
    if (!has_place(source.path)) return false;
    name += (name.empty() ? "" : " + ") + shown_name(source.path);
    variant += source.split + "\n";
    return true;
  };
  if (spec.mix.empty()) return add(spec.source) ? name : "";
  return std::all_of(spec.mix.begin(), spec.mix.end(), add) ? name : "";
}

// Of shards whose indexes are not used; empty for none.
std::string not_used_text(const BroughtIndexes& indexes) {
  if (indexes.not_used.empty()) return "";
  if (indexes.not_used.size() == 1) return "; " + indexes.not_used[0];
  return fmt::format("; {}, and {} more like it", indexes.not_used[0], indexes.not_used.size() - 1);
}

// What the shards of `records` have brought, and where others are kept, if anywhere.
std::string told(const BroughtIndexes& indexes, std::uint64_t records, const std::filesystem::path& place) {
  std::uint64_t brought = 0;
  for (const ScanIndexPart& part : indexes.parts) brought += part.records;
  std::string text = "a crop of a baseline JPEG reads its own rows and columns only; ";
  if (brought > 0 && brought == records)
    text += "brought by the shards";
  else if (brought > 0)
    text += fmt::format("of {} of {} records brought by their shards", brought, records);
  if (!place.empty())
    text +=
        fmt::format("{}kept in {}, made while the first epoch runs", brought == 0 ? "" : ", others ", place.string());
  return text + not_used_text(indexes);
}

Decision apply(Plan& plan, const PassInput& input) {
  if (!plan.crop_into_decode) return {false, "no crop is decoded by itself"};
  if (std::int64_t{input.probed.width} * input.probed.height < kLeastIndexedPixels)
    return {false,
            fmt::format("images of {}x{} pixels are decoded as fast without", input.probed.width, input.probed.height)};
  const auto [places, why_none] = scan_index_places(plan.spec);
  BroughtIndexes brought = brought_indexes(*plan.dataset);
  if (input.caches == Caches::kOpened)
    for (const std::string& why : brought.not_used) emit_notice(why);
  if (places.empty() && brought.parts.empty()) return {false, why_none + not_used_text(brought)};
  const auto told_of = [&](const std::filesystem::path& place) { return told(brought, plan.dataset->size(), place); };
  if (input.caches == Caches::kDryRun) {
    plan.scans_indexed = true;
    const auto there = std::find_if(places.begin(), places.end(), [](const std::filesystem::path& place) {
      std::error_code failed;
      return std::filesystem::exists(place, failed);
    });
    return {true, told_of(places.empty() ? "" : there == places.end() ? places.front() : *there)};
  }
  try {
    plan.scan_index = ScanIndexStore::open(places, plan.dataset->size(), 0, brought.parts);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kIo) throw;
    return {false, fmt::format("no place to keep it: {}{}", error.what(), not_used_text(brought))};
  }
  plan.scans_indexed = true;
  return {true, told_of(plan.scan_index->place())};
}

}  // namespace

ScanIndexPlaces scan_index_places(const PipelineSpec& spec) {
  std::string variant;
  const std::string name = name_of(spec, variant);
  if (name.empty()) return {{}, "these data have no place beside which an index could be kept"};
  ScanIndexPlaces found{scan_index_places(name, variant), ""};
  if (found.places.empty()) found.why_none = "neither XDG_CACHE_HOME nor HOME tells a folder to keep it in";
  return found;
}

const Pass kScanIndexPass{"scan_index", true, "remembers where the rows of a JPEG begin, and decodes crops from there",
                          apply};

}  // namespace unstarve
