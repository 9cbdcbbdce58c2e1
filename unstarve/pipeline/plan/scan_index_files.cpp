#include "unstarve/pipeline/plan/scan_index_files.h"

#include <algorithm>

#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/index/scan_index_store.h"

namespace unstarve {
namespace {

// A name for the data, and in `variant` what else determines the number of each record. Empty for data without a
// location (generated data, a program's own source).
std::string name_of(const PipelineSpec& spec, std::string& variant) {
  const auto has_location = [](const std::string& path) {
    std::error_code failed;
    return is_url(path) || std::filesystem::exists(path.substr(0, path.find('#')), failed) ||
           path.find_first_of("*?{") != std::string::npos;
  };
  std::string name;
  const auto add = [&](const SourceSpec& source) {
    if (!has_location(source.path)) return false;
    name += (name.empty() ? "" : " + ") + shown_name(source.path);
    variant += source.split + "\n";
    return true;
  };
  if (spec.mix.empty()) return add(spec.source) ? name : "";
  return std::all_of(spec.mix.begin(), spec.mix.end(), add) ? name : "";
}

}  // namespace

ScanIndexFiles scan_index_files(const PipelineSpec& spec) {
  std::string variant;
  const std::string name = name_of(spec, variant);
  if (name.empty()) return {{}, "the data have no path or URL by which an index could be found again"};
  ScanIndexFiles found{scan_index_places(name, variant), ""};
  if (found.candidates.empty()) found.why_none = "neither XDG_CACHE_HOME nor HOME names a folder for it";
  return found;
}

}  // namespace unstarve
