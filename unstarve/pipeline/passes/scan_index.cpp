#include <fmt/format.h>

#include <algorithm>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/passes/pass.h"
#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve {
namespace {

// Below this many pixels an image is decoded in the time that finding its index takes.
constexpr std::int64_t kLeastPixels = 128 * 128;

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

Decision apply(Plan& plan, const PassInput& input) {
  if (!plan.crop_into_decode) return {false, "no crop is decoded by itself"};
  if (std::int64_t{input.probed.width} * input.probed.height < kLeastPixels)
    return {false,
            fmt::format("images of {}x{} pixels are decoded as fast without", input.probed.width, input.probed.height)};
  std::string variant;
  const std::string name = name_of(plan.spec, variant);
  if (name.empty()) return {false, "these data have no place beside which an index could be kept"};
  const std::vector<std::filesystem::path> places = scan_index_places(name, variant);
  if (places.empty()) return {false, "neither XDG_CACHE_HOME nor HOME tells a folder to keep it in"};
  const auto told = [](const std::filesystem::path& place) {
    return fmt::format(
        "a crop of a baseline JPEG reads its own rows and columns only; kept in {}, made while the "
        "first epoch runs",
        place.string());
  };
  if (input.caches == Caches::kTold) {
    plan.scans_indexed = true;
    const auto there = std::find_if(places.begin(), places.end(), [](const std::filesystem::path& place) {
      std::error_code failed;
      return std::filesystem::exists(place, failed);
    });
    return {true, told(there == places.end() ? places.front() : *there)};
  }
  try {
    plan.scan_index = ScanIndexStore::open(places, plan.dataset->size(), 0);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kIo) throw;
    return {false, fmt::format("no place to keep it: {}", error.what())};
  }
  plan.scans_indexed = true;
  return {true, told(plan.scan_index->place())};
}

}  // namespace

const Pass kScanIndexPass{"scan_index", true, "remembers where the rows of a JPEG begin, and decodes crops from there",
                          apply};

}  // namespace unstarve
