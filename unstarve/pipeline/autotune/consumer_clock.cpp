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

void ConsumerClock::enter(std::int64_t now_ns) {
  entered_ns_.store(now_ns, std::memory_order_relaxed);
  if (left_ns_ < 0) return;
  const std::int64_t ns = now_ns - left_ns_;
  const auto time = static_cast<double>(ns);
  left_ns_ = -1;
  if (!begun_) {
    begun_ = true;
    add(pauses_, std::int64_t{1});
    add(paused_ns_, ns);
    return;
  }
  const bool pause = worked_ >= kKnown && time > std::max(kLeastPauseNs, kPauseTimes * usual_ns_);
  ++worked_;
  // Pauses count in it, too: where every step takes as long, that soon is the usual time.
  usual_ns_ += (time - usual_ns_) / std::min(static_cast<double>(worked_), kMemory);
  if (pause) {
    add(pauses_, std::int64_t{1});
    add(paused_ns_, ns);
    return;
  }
  add(batches_, std::int64_t{1});
  add(busy_ns_, ns);
  add(squares_us2_, time * time * 1e-6);
}

void ConsumerClock::leave(std::int64_t now_ns, bool with_batch) {
  const std::int64_t entered = entered_ns_.exchange(-1, std::memory_order_relaxed);
  if (entered >= 0) add(wait_ns_, now_ns - entered);
  if (with_batch) left_ns_ = now_ns;
}

ConsumerProfile ConsumerClock::profile(std::int64_t now_ns) const {
  ConsumerProfile profile;
  profile.batches = batches_.load(std::memory_order_relaxed);
  profile.busy_ns = busy_ns_.load(std::memory_order_relaxed);
  profile.squares_us2 = squares_us2_.load(std::memory_order_relaxed);
  profile.wait_ns = wait_ns_.load(std::memory_order_relaxed);
  profile.pauses = pauses_.load(std::memory_order_relaxed);
  profile.paused_ns = paused_ns_.load(std::memory_order_relaxed);
  const std::int64_t entered = entered_ns_.load(std::memory_order_relaxed);
  if (entered >= 0) profile.wait_ns += std::max<std::int64_t>(0, now_ns - entered);
  return profile;
}

}  // namespace unstarve::autotune
