#pragma once
// Switches a disk cache's writes off for a minute after a failure, for example of a full disk.
//
// Ownership: borrows the clock. Threads: any. Failure: what `on_warning` throws.

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "unstarve/core/clock.h"

namespace unstarve::remote {

class CacheBypass {
 public:
  explicit CacheBypass(std::function<void(const std::string&)> on_warning, Clock& clock = steady_clock())
      : on_warning_(std::move(on_warning)), clock_(clock) {}

  // Bypasses the cache from now on. The first call passes the reason to `on_warning`, unless that is empty.
  void start(const std::string& reason) {
    until_ns_ = clock_.now_ns() + kDurationNs;
    if (warned_.exchange(true) || !on_warning_) return;
    on_warning_("disk cache: " + reason + "; reads continue without storing");
  }
  [[nodiscard]] bool active() const { return clock_.now_ns() < until_ns_; }

 private:
  static constexpr std::int64_t kDurationNs = 60'000'000'000;

  std::function<void(const std::string&)> on_warning_;
  Clock& clock_;
  std::atomic<bool> warned_{false};
  std::atomic<std::int64_t> until_ns_{0};
};

}  // namespace unstarve::remote
