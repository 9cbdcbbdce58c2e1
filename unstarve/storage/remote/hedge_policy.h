#pragma once
// Decides which requests are stragglers, for which a second request (a hedge) is started.
//
// A straggler has run for hedge_factor times the 95th percentile of its size class (latency.h), and for at least
// hedge_floor. At most a tenth as many hedges run as requests, plus one.
//
// Ownership: borrows the options. Threads: hedges() and hedges_won() by any thread, the others by one at a time.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "unstarve/storage/remote/latency.h"
#include "unstarve/storage/remote/remote.h"

namespace unstarve::remote {

class HedgePolicy {
 public:
  explicit HedgePolicy(const RemoteOptions& options) : options_(options) {}

  [[nodiscard]] bool enabled() const { return options_.hedge_factor > 0; }
  // Whether another hedge may run now.
  [[nodiscard]] bool may_start() const { return running_ <= options_.in_flight / 10; }
  // Whether a request for `bytes` that has run for `elapsed_ns` is a straggler.
  [[nodiscard]] bool is_straggler(std::uint64_t bytes, std::int64_t elapsed_ns) const;

  void add_latency(std::uint64_t bytes, std::int64_t duration_ns) { latency_.add(bytes, duration_ns); }
  void count_start() {
    ++running_;
    ++hedges_;
  }
  void count_end() { --running_; }
  void count_won() { ++won_; }  // was faster than the first request

  [[nodiscard]] std::uint64_t hedges() const { return hedges_; }
  [[nodiscard]] std::uint64_t hedges_won() const { return won_; }

 private:
  const RemoteOptions& options_;
  LatencyTracker latency_;
  std::size_t running_ = 0;
  std::atomic<std::uint64_t> hedges_{0}, won_{0};
};

inline bool HedgePolicy::is_straggler(std::uint64_t bytes, std::int64_t elapsed_ns) const {
  const auto typical = latency_.p95_ns(bytes);
  if (!typical) return false;
  const std::chrono::duration<double, std::nano> floor = options_.hedge_floor;
  return static_cast<double>(elapsed_ns) >=
         std::max(static_cast<double>(*typical) * options_.hedge_factor, floor.count());
}

}  // namespace unstarve::remote
