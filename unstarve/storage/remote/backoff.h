#pragma once
// How long to wait before the next attempt: first_wait doubled with every attempt, at most longest_wait, of which a
// random half is taken off so that clients that failed together do not come back together. A server's Retry-After
// counts
// instead when it is longer (and is jittered upwards by a tenth).
//
// Threads: one at a time. The waits are a function of the seed alone.

#include <chrono>
#include <cstdint>
#include <optional>

#include "unstarve/core/random.h"

namespace unstarve::remote {

class Backoff {
 public:
  Backoff(std::chrono::milliseconds first_wait, std::chrono::milliseconds longest_wait, std::uint64_t seed)
      : first_wait_(first_wait), longest_wait_(longest_wait), random_(seed, 0, 0, 0) {}

  // After `attempts` attempts (at least 1) that failed.
  [[nodiscard]] std::chrono::nanoseconds wait_after(int attempts, std::optional<std::chrono::seconds> retry_after);

 private:
  std::chrono::milliseconds first_wait_, longest_wait_;
  Random random_;
};

}  // namespace unstarve::remote
