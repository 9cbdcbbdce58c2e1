#include "unstarve/pipeline/plan/scan_index_files.h"

#include <algorithm>

#include "unstarve/pipeline/order/sources.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/index/scan_index_store.h"
#include "unstarve/storage/source/source_options.h"

namespace unstarve {
namespace {

// Generated data and a program's own source have no location.
bool has_location(const SourceSpec& source) {
  std::error_code failed;
  return is_url(source.path) || std::filesystem::exists(source.path.substr(0, options_at(source.path)), failed) ||
         source.path.find_first_of("*?{") != std::string::npos;
}

}  // namespace

ScanIndexFiles scan_index_files(const PipelineSpec& spec) {
  const std::vector<SourceSpec> sources = spec.mix.empty() ? std::vector{spec.source} : spec.mix;
  if (!std::all_of(sources.begin(), sources.end(), has_location))
    return {{}, "the data has no path or URL by which an index could be found again"};
  std::string splits;
  for (const SourceSpec& source : sources) splits += source.split + "\n";
  std::string name = name_of_sources(spec);
  // Options such as #image=NAME select other images of the same file.
  std::error_code failed;
  const std::size_t options = is_url(name) ? std::string::npos : options_at(name);
  if (sources.size() == 1 && options != std::string::npos && !std::filesystem::exists(name, failed)) {
    splits += name.substr(options);
    name.resize(options);
  }
  ScanIndexFiles found{scan_index_candidates(name, splits), ""};
  if (found.candidates.empty()) found.why_none = "neither XDG_CACHE_HOME nor HOME names a folder for it";
  return found;
}

}  // namespace unstarve
