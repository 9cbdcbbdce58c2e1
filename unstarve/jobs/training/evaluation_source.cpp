#include "unstarve/jobs/training/evaluation_source.h"

#include <fmt/format.h>

#include <limits>
#include <utility>
#include <vector>

#include "unstarve/storage/dataset/notice.h"

namespace unstarve {

EvaluationSource::EvaluationSource(std::unique_ptr<Loader> loader, BadSamples& bad)
    : source_(std::move(loader), LoaderSource::Samples::kOfRank), bad_(bad) {}

bool EvaluationSource::next(HostBatch& batch) {
  try {
    const bool found = source_.next(batch);
    list_bad();
    return found;
  } catch (...) {
    list_bad();
    throw;
  }
}

void EvaluationSource::list_bad() {
  const std::uint64_t count = source_.loader().bad_count();
  if (count == listed_) return;
  listed_ = count;
  const std::vector<BadSample> bad = source_.loader().bad_samples(std::numeric_limits<std::size_t>::max());
  if (!bad.empty() && bad_.empty(BadSamples::Of::kValidation))
    emit_notice(fmt::format("evaluation leaves out samples that cannot be read; the first: {}: {}",
                            to_string(bad.front().location), bad.front().reason));
  bad_.add(BadSamples::Of::kValidation, bad);
}

}  // namespace unstarve
