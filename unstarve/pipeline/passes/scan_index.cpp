#include <fmt/format.h>

#include <algorithm>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/pipeline/passes/scan_index_place.h"
#include "unstarve/storage/bytes/byte_source.h"

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

// Of `records` those whose shards have brought their indexes; empty for none.
std::string brought_text(const std::vector<ScanIndexPart>& parts, std::uint64_t records) {
  std::uint64_t brought = 0;
  for (const ScanIndexPart& part : parts) brought += part.records;
  if (brought == 0) return "";
  return brought == records ? "brought by the shards"
                            : fmt::format("of {} of {} records brought by their shards", brought, records);
}

std::string told(const std::string& brought, const std::filesystem::path& place) {
  std::string text = "a crop of a baseline JPEG reads its own rows and columns only; ";
  if (!brought.empty()) text += brought;
  if (place.empty()) return text;
  return text + fmt::format("{}kept in {}, made while the first epoch runs", brought.empty() ? "" : ", others ",
                            place.string());
}

Decision apply(Plan& plan, const PassInput& input) {
  if (!plan.crop_into_decode) return {false, "no crop is decoded by itself"};
  if (std::int64_t{input.probed.width} * input.probed.height < kLeastIndexedPixels)
    return {false,
            fmt::format("images of {}x{} pixels are decoded as fast without", input.probed.width, input.probed.height)};
  const auto [places, why_none] = scan_index_places(plan.spec);
  std::vector<ScanIndexPart> brought = scan_index_parts(*plan.dataset);
  if (places.empty() && brought.empty()) return {false, why_none};
  const std::string from = brought_text(brought, plan.dataset->size());
  if (input.caches == Caches::kTold) {
    plan.scans_indexed = true;
    const auto there = std::find_if(places.begin(), places.end(), [](const std::filesystem::path& place) {
      std::error_code failed;
      return std::filesystem::exists(place, failed);
    });
    return {true, told(from, places.empty() ? "" : there == places.end() ? places.front() : *there)};
  }
  try {
    plan.scan_index = ScanIndexStore::open(places, plan.dataset->size(), 0, std::move(brought));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kIo) throw;
    return {false, fmt::format("no place to keep it: {}", error.what())};
  }
  plan.scans_indexed = true;
  return {true, told(from, plan.scan_index->place())};
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
