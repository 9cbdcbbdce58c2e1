#include "unstarve/storage/remote/latency.h"

#include <algorithm>
#include <bit>

namespace unstarve::remote {

void LatencyTracker::add(std::uint64_t bytes, std::int64_t duration_ns) {
  SizeClass& size_class = classes_[static_cast<std::size_t>(std::bit_width(bytes))];
  size_class.durations[size_class.added % kWindow] = duration_ns;
  ++size_class.added;
  if (size_class.added % kEnough != 0) return;
  const std::size_t count = std::min(size_class.added, kWindow);
  std::array<std::int64_t, kWindow> sorted = size_class.durations;
  const std::size_t rank = (count * 95 + 99) / 100 - 1;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(rank),
                   sorted.begin() + static_cast<std::ptrdiff_t>(count));
  size_class.p95_ns = sorted[rank];
}

std::optional<std::int64_t> LatencyTracker::p95_ns(std::uint64_t bytes) const {
  const SizeClass& size_class = classes_[static_cast<std::size_t>(std::bit_width(bytes))];
  if (size_class.added < kEnough) return std::nullopt;
  return size_class.p95_ns;
}

}  // namespace unstarve::remote
