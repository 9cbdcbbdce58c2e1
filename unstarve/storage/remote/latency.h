#pragma once
// Durations of recent requests by size, to detect stragglers.
//
// Sizes are grouped by power of two; each class stores its last 64 durations. A class with fewer than 16 has no
// percentile.
//
// Threads: one at a time. Cost: constant; the percentile is recomputed every 16 durations.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace unstarve::remote {

class LatencyTracker {
 public:
  void add(std::uint64_t bytes, std::int64_t duration_ns);
  // The 95th percentile of the durations of requests of about `bytes`.
  [[nodiscard]] std::optional<std::int64_t> p95_ns(std::uint64_t bytes) const;

 private:
  static constexpr std::size_t kWindow = 64, kEnough = 16;
  struct SizeClass {
    std::array<std::int64_t, kWindow> durations{};
    std::size_t added = 0;
    std::int64_t p95_ns = 0;
  };
  std::array<SizeClass, 65> classes_{};
};

inline void LatencyTracker::add(std::uint64_t bytes, std::int64_t duration_ns) {
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

inline std::optional<std::int64_t> LatencyTracker::p95_ns(std::uint64_t bytes) const {
  const SizeClass& size_class = classes_[static_cast<std::size_t>(std::bit_width(bytes))];
  if (size_class.added < kEnough) return std::nullopt;
  return size_class.p95_ns;
}

}  // namespace unstarve::remote
