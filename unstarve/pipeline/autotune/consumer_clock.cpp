#include "unstarve/pipeline/autotune/consumer_clock.h"

#include <algorithm>
#include <utility>

namespace unstarve::autotune {
namespace {

// A pause takes at least kPauseTimes the mean and kMinPauseNs; steps of one training differ by far less.
constexpr double kPauseTimes = 20;
constexpr double kMinPauseNs = 50e6;
// Batches before a time can count as a pause, and the length of the running mean.
constexpr std::int64_t kMinGapBatches = 4;
constexpr double kMeanBatches = 16;

}  // namespace

bool ConsumerClock::is_pause(std::int64_t ns) const {
  if (!started_ || announced_) return true;
  return worked_ >= kMinGapBatches && static_cast<double>(ns) > std::max(kMinPauseNs, kPauseTimes * mean_ns_);
}

void ConsumerClock::pause() {
  const std::lock_guard lock(mutex_);
  announced_ = true;
}

void ConsumerClock::enter(std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  entered_ns_ = now_ns;
  const bool announced = std::exchange(announced_, false);
  if (left_ns_ < 0) return;
  const std::int64_t ns = now_ns - left_ns_;
  const auto time = static_cast<double>(ns);
  left_ns_ = -1;
  const bool pause = announced || is_pause(ns);
  if (started_ && !announced) {
    ++worked_;
    // Pauses are included: if every step takes this long, the mean adapts soon.
    mean_ns_ += (time - mean_ns_) / std::min(static_cast<double>(worked_), kMeanBatches);
  }
  started_ = true;
  if (pause) {
    ++counted_.pauses;
    counted_.paused_ns += ns;
    return;
  }
  ++counted_.batches;
  counted_.busy_ns += ns;
  counted_.squares_us2 += time * time * 1e-6;
}

void ConsumerClock::leave(std::int64_t now_ns, bool with_batch) {
  const std::lock_guard lock(mutex_);
  if (entered_ns_ >= 0) counted_.wait_ns += now_ns - entered_ns_;
  entered_ns_ = -1;
  if (with_batch) left_ns_ = now_ns;
}

ConsumerProfile ConsumerClock::profile(std::int64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  ConsumerProfile profile = counted_;
  if (entered_ns_ >= 0) profile.wait_ns += std::max<std::int64_t>(0, now_ns - entered_ns_);
  if (left_ns_ >= 0 && now_ns > left_ns_ && is_pause(now_ns - left_ns_)) {
    ++profile.pauses;
    profile.paused_ns += now_ns - left_ns_;
  }
  return profile;
}

}  // namespace unstarve::autotune
