#include "unstarve/pipeline/plan/scan_index_files.h"

#include <algorithm>

#include "unstarve/pipeline/order/sources.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/index/scan_index_store.h"

namespace unstarve {
namespace {

// Generated data and a program's own source have no location.
bool has_location(const SourceSpec& source) {
  std::error_code failed;
  return is_url(source.path) || std::filesystem::exists(source.path.substr(0, source.path.find('#')), failed) ||
         source.path.find_first_of("*?{") != std::string::npos;
}

}  // namespace

ScanIndexFiles scan_index_files(const PipelineSpec& spec) {
  const std::vector<SourceSpec> sources = spec.mix.empty() ? std::vector{spec.source} : spec.mix;
  if (!std::all_of(sources.begin(), sources.end(), has_location))
    return {{}, "the data have no path or URL by which an index could be found again"};
  std::string splits;
  for (const SourceSpec& source : sources) splits += source.split + "\n";
  ScanIndexFiles found{scan_index_candidates(name_of_sources(spec), splits), ""};
  if (found.candidates.empty()) found.why_none = "neither XDG_CACHE_HOME nor HOME names a folder for it";
  return found;
}

}  // namespace unstarve
