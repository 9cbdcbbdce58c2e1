#include "unstarve/diagnose/traces/unified_events.h"

#include <algorithm>

#include "unstarve/diagnose/traces/event_list.h"

namespace unstarve {

void UnifiedEvents::add(const UnifiedEvent& event) {
  constexpr std::int64_t kMostFaults = std::int64_t{1} << 32;  // sums do not overflow
  if (event.end_ns < event.begin_ns || event.begin_ns < -kLatestNs || event.end_ns > kLatestNs) return;
  if (events_.size() >= limit_) {
    ++left_out_;
    return;
  }
  events_.push_back(event);
  events_.back().count = std::clamp(event.count, std::int64_t{0}, kMostFaults);
}

}  // namespace unstarve
