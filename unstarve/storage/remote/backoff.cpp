#include "unstarve/storage/remote/backoff.h"

#include <algorithm>
#include <cmath>

namespace unstarve::remote {

std::chrono::nanoseconds Backoff::wait_after(int attempts, std::optional<std::chrono::seconds> retry_after) {
  using Nanoseconds = std::chrono::duration<double, std::nano>;
  const Nanoseconds doubled = Nanoseconds(first_wait_) * std::ldexp(1.0, std::clamp(attempts - 1, 0, 60));
  const Nanoseconds longest = std::min(doubled, Nanoseconds(longest_wait_));
  const double draw = random_.uniform();
  Nanoseconds wait = longest * (0.5 + 0.5 * draw);
  if (retry_after) wait = std::max(wait, Nanoseconds(*retry_after) * (1 + 0.1 * draw));
  return std::chrono::duration_cast<std::chrono::nanoseconds>(wait);
}

}  // namespace unstarve::remote
