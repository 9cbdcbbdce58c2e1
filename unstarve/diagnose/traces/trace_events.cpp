#include "unstarve/diagnose/traces/trace_events.h"

#include <algorithm>

namespace unstarve {

std::uint32_t TraceEvents::name_id(std::string_view name) {
  if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
  names_.emplace_back(name);
  return ids_[std::string(name)] = static_cast<std::uint32_t>(names_.size() - 1);
}

std::uint32_t TraceEvents::lane_id(std::string_view lane) {
  if (const auto found = lanes_.find(lane); found != lanes_.end()) return found->second;
  const auto id = static_cast<std::uint32_t>(lanes_.size());
  lane_names_.emplace_back(lane);
  return lanes_[std::string(lane)] = id;
}

void TraceEvents::add(const TraceEvent& event) {
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

void TraceEvents::give_up_operators() {
  has_operators_ = false;
  left_out_ += static_cast<std::int64_t>(
      std::erase_if(events_, [](const auto& e) { return e.activity == TraceActivity::kOperator; }));
}

DeviceUse* TraceEvents::device(std::int64_t index) {
  if (index < 0 || index >= kMostDevices) return nullptr;
  DeviceUse& device = devices_[static_cast<int>(index)];
  device.index = static_cast<int>(index);
  return &device;
}

}  // namespace unstarve
