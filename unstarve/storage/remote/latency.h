#pragma once
// Durations of recent requests by size, to detect stragglers.
//
// Sizes are grouped by power of two; each class stores its last 64 durations. A class with fewer than 16 has no
// percentile.
//
// Threads: one at a time. Cost: constant; the percentile is recomputed every 16 durations.

#include <array>
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

}  // namespace unstarve::remote
