#include "unstarve/pipeline/autotune/consumer_clock.h"

#include <algorithm>

namespace unstarve::autotune {
namespace {

// Steps of one training differ by far less; what takes longer, and long enough to matter, is a pause.
constexpr double kPauseTimes = 20;
constexpr double kLeastPauseNs = 50e6;
// Batches before anything counts as a pause, and over how many the usual time is averaged.
constexpr std::int64_t kKnown = 4;
constexpr double kMemory = 16;

}  // namespace

bool ConsumerClock::is_pause(std::int64_t ns) const {
  if (!begun_) return true;
  return worked_ >= kKnown && static_cast<double>(ns) > std::max(kLeastPauseNs, kPauseTimes * usual_ns_);
}

void ConsumerClock::enter(std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  entered_ns_ = now_ns;
  if (left_ns_ < 0) return;
  const std::int64_t ns = now_ns - left_ns_;
  const auto time = static_cast<double>(ns);
  left_ns_ = -1;
  const bool pause = is_pause(ns);
  if (begun_) {
    ++worked_;
    // Pauses count in it, too: where every step takes as long, that soon is the usual time.
    usual_ns_ += (time - usual_ns_) / std::min(static_cast<double>(worked_), kMemory);
  }
  begun_ = true;
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
