#pragma once
// The wait before the next attempt: first_wait, doubled with every attempt up to longest_wait, minus a random part of
// up to half, so that clients that failed together do not retry together. A longer Retry-After of the server takes
// precedence (jittered upwards by a tenth).
//
// Threads: one at a time. The waits depend on the seed only.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>

#include "unstarve/core/random.h"

namespace unstarve::remote {

class Backoff {
 public:
  Backoff(std::chrono::milliseconds first_wait, std::chrono::milliseconds longest_wait, std::uint64_t seed)
      : first_wait_(first_wait), longest_wait_(longest_wait), random_(seed, 0, 0, 0) {}

  // After `attempts` failed attempts (at least 1).
  [[nodiscard]] std::chrono::nanoseconds wait_after(int attempts, std::optional<std::chrono::seconds> retry_after);

 private:
  std::chrono::milliseconds first_wait_, longest_wait_;
  Random random_;
};

inline std::chrono::nanoseconds Backoff::wait_after(int attempts, std::optional<std::chrono::seconds> retry_after) {
  using Nanoseconds = std::chrono::duration<double, std::nano>;
  const Nanoseconds doubled = Nanoseconds(first_wait_) * std::ldexp(1.0, std::clamp(attempts - 1, 0, 60));
  const Nanoseconds longest = std::min(doubled, Nanoseconds(longest_wait_));
  const double draw = random_.uniform();
  Nanoseconds wait = longest * (0.5 + 0.5 * draw);
  constexpr std::chrono::seconds kLongestRequested = std::chrono::years(1);  // more does not fit into the result
  if (retry_after) wait = std::max(wait, Nanoseconds(std::min(*retry_after, kLongestRequested)) * (1 + 0.1 * draw));
  return std::chrono::duration_cast<std::chrono::nanoseconds>(wait);
}

}  // namespace unstarve::remote
