#pragma once
// The events of a trace in one form, whichever profiler wrote them. Readers of formats add events in any order;
// reduce_trace() (reduce.h) makes a TraceUse of them.
//
// Ownership: owns names and events. Threads: one.
// Failure:   none; of more than `limit` events, see EventList.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/diagnose/profile/device_use.h"
#include "unstarve/diagnose/traces/event_list.h"
#include "unstarve/diagnose/traces/intervals.h"
#include "unstarve/diagnose/traces/name_table.h"

namespace unstarve {

// Memory of a device that was allocated from CUDA, or released.
struct MemoryChange {
  std::int64_t time_ns = 0;
  std::int64_t bytes = 0;  // negative: released
};

struct MemoryChanges {
  std::vector<MemoryChange> device;  // of all devices, in order
  std::vector<MemoryChange> pinned;  // of the host, in order
};

// Arithmetic of an operator, from its shapes (operator_work.h).
struct OperatorWork {
  std::int64_t begin_ns = 0;  // on the host
  double operations = 0;
  bool is_16_bits = false;
  bool is_aligned = true;  // its sizes are multiples of 8
};

inline constexpr int kMostDevices = 64;
inline constexpr std::int64_t kLongestTrace = std::int64_t{86'400} * 1'000'000'000;  // a day, in nanoseconds

class TraceEvents {
 public:
  explicit TraceEvents(std::size_t limit = kMostEvents) : events_(limit), unified_(limit) {}

  [[nodiscard]] std::uint32_t name_id(std::string_view name) { return names_.id(name); }
  [[nodiscard]] const std::string& name(std::uint32_t id) const { return names_.name(id); }
  [[nodiscard]] std::size_t names() const { return names_.size(); }
  // A number for the thread or stream of this name, for example "4711/4712".
  [[nodiscard]] std::uint32_t lane_id(std::string_view lane) { return lanes_.id(lane); }
  [[nodiscard]] const std::string& lane(std::uint32_t id) const { return lanes_.name(id); }

  void add(const TraceEvent& event) { events_.add(event); }     // EventList::add()
  void add(const UnifiedEvent& event) { unified_.add(event); }  // UnifiedEvents::add()
  // Counts an event that is left out because it contradicts the format. `problem`: which one, what was found, and what
  // was expected.
  void reject(std::string problem);
  // Rejects events that are more than kLongestTrace away from the others: their times are wrong, and sums would have no
  // meaning.
  void reject_outliers();
  // What is known of a device before its events. Numbers from kMostDevices on are ignored.
  [[nodiscard]] DeviceUse* device(std::int64_t index) {
    if (index < 0 || index >= kMostDevices) return nullptr;
    DeviceUse& device = devices_[static_cast<int>(index)];
    device.index = static_cast<int>(index);
    return &device;
  }

  [[nodiscard]] std::vector<TraceEvent>& events() { return events_.events(); }
  [[nodiscard]] const std::vector<TraceEvent>& events() const { return events_.events(); }
  [[nodiscard]] const std::vector<UnifiedEvent>& unified() const { return unified_.events(); }
  [[nodiscard]] std::int64_t left_out() const { return events_.left_out() + unified_.left_out(); }
  [[nodiscard]] const std::map<int, DeviceUse>& devices() const { return devices_; }

  // Facts for the TraceUse.
  std::string format;
  Framework framework = Framework::kUnknown;
  std::int64_t image_bytes = 0;
  MalformedEvents malformed;
  MemoryChanges memory;
  std::vector<OperatorWork> work;
  std::vector<Interval> recorded;  // in order, disjoint; empty: everything from the first event to the last one

 private:
  EventList events_;
  UnifiedEvents unified_;
  NameTable names_, lanes_;
  std::map<int, DeviceUse> devices_;
};

}  // namespace unstarve
