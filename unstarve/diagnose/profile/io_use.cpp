#include "unstarve/diagnose/profile/io_use.h"

#include <numeric>

#include "unstarve/core/statistics.h"

namespace unstarve {
namespace {

RateUse rate_use(const std::vector<double>& points) {
  if (points.empty()) return {};
  const double mean = std::accumulate(points.begin(), points.end(), 0.0) / static_cast<double>(points.size());
  return {mean, quantile(points, 0.1), median(points), quantile(points, 0.9)};
}

}  // namespace

IoUse io_use(const RunProfile& profile) {
  const RunTimeline& timeline = profile.timeline;
  IoUse use;
  use.interval_s = timeline.interval_s;
  use.read = rate_use(timeline.read_bytes_per_s);
  use.storage = rate_use(timeline.storage_bytes_per_s);
  use.received = rate_use(timeline.received_bytes_per_s);
  use.sent = rate_use(timeline.sent_bytes_per_s);
  use.major_faults = rate_use(timeline.major_faults_per_s);
  double read = 0, storage = 0;
  for (const ProcessUse& process : profile.processes) {
    read += static_cast<double>(process.read_bytes);
    storage += static_cast<double>(process.storage_bytes);
  }
  // Pages of mapped files come from a device without read().
  if (read > 0 && storage <= read) use.cached_share = 1 - storage / read;
  return use;
}

}  // namespace unstarve
