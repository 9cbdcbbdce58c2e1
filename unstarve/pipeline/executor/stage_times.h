#pragma once
// Time and bytes of the stages of samples, counted by the thread that makes them.
//
// Threads: one.

#include <array>
#include <cstddef>
#include <cstdint>

#include "unstarve/core/clock.h"
#include "unstarve/core/machine/thread_time.h"

namespace unstarve {

enum class WorkStage { kRead, kDecode, kAugment, kStore };
inline constexpr std::size_t kStages = 4;
inline constexpr std::array<const char*, kStages> kStageNames{"read", "decode", "augment", "store"};

// Bytes out of each stage for all samples; nanoseconds for the timed ones; CPU time for some of those.
struct StageTotals {
  std::array<std::int64_t, kStages> bytes{};
  std::array<std::int64_t, kStages> ns{};
  std::array<double, kStages> squares_us2{};
  std::array<std::int64_t, kStages> both_ns{};  // wall time of the samples whose CPU time is taken
  std::array<std::int64_t, kStages> cpu_ns{};
  std::int64_t timed_samples = 0;
  bool take_cpu = false;  // of the next samples that are timed
};

// Laps between stages. Reads the clock only for samples that are timed.
class StageClock {
 public:
  StageClock(StageTotals& totals, bool timed) : totals_(totals), timed_(timed) {
    if (!timed_) return;
    if (totals_.take_cpu) last_cpu_ = thread_cpu_ns();
    last_ = steady_clock().now_ns();
  }
  [[nodiscard]] bool timed() const { return timed_; }
  // Ends a stage that produced `bytes`. `later_ns` of its time, with their share of its CPU time, count towards the
  // next stage.
  void lap(WorkStage stage, std::size_t bytes, std::int64_t later_ns = 0) {
    const auto index = static_cast<std::size_t>(stage);
    totals_.bytes[index] += static_cast<std::int64_t>(bytes);
    if (!timed_) return;
    const std::int64_t now = steady_clock().now_ns();
    const std::int64_t ns = now - last_ - later_ns;
    totals_.ns[index] += ns;
    totals_.squares_us2[index] += static_cast<double>(ns) * static_cast<double>(ns) * 1e-6;
    if (totals_.take_cpu) {
      const std::int64_t cpu = thread_cpu_ns(), lap_cpu = cpu - last_cpu_;
      const double later = later_ns > 0 ? static_cast<double>(later_ns) / static_cast<double>(ns + later_ns) : 0;
      const auto later_cpu = static_cast<std::int64_t>(later * static_cast<double>(lap_cpu));
      totals_.both_ns[index] += ns;
      totals_.cpu_ns[index] += lap_cpu - later_cpu;
      last_cpu_ = cpu - later_cpu;
    }
    last_ = steady_clock().now_ns() - later_ns;
  }

 private:
  StageTotals& totals_;
  const bool timed_;
  std::int64_t last_ = 0, last_cpu_ = 0;
};

}  // namespace unstarve
