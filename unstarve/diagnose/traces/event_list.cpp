#include "unstarve/diagnose/traces/event_list.h"

#include <algorithm>

namespace unstarve {

void EventList::add(const TraceEvent& event) {
  const bool may_be_empty = event.activity == TraceActivity::kKernel || event.activity == TraceActivity::kCopy;
  if (event.end_ns < event.begin_ns || (event.end_ns == event.begin_ns && !may_be_empty)) return;
  if (event.begin_ns < -kLatestNs || event.end_ns > kLatestNs) return;
  if (events_.size() >= limit_ && has_operators_) give_up_operators();
  if (events_.size() >= limit_ || (event.activity == TraceActivity::kOperator && !has_operators_)) {
    ++left_out_;
    return;
  }
  events_.push_back(event);
}

void EventList::give_up_operators() {
  has_operators_ = false;
  left_out_ += static_cast<std::int64_t>(
      std::erase_if(events_, [](const auto& e) { return e.activity == TraceActivity::kOperator; }));
}

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
