#pragma once
// The events of a trace in one form, whichever profiler wrote them. Readers of formats add events in any order;
// reduce_trace() (reduce.h) makes a TraceUse of them.
//
// Ownership: owns names and events.
// Threads:   one.
// Failure:   none; events of more than `limit` are counted, not stored. When the limit is reached for the first time,
//            the operators are given up, which are the most numerous and the least important.
// Cost:      40 bytes per event, each name once.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "unstarve/diagnose/profile/device_use.h"
#include "unstarve/diagnose/traces/intervals.h"

namespace unstarve {

enum class TraceActivity : std::uint8_t {
  // On a device; the lane is a stream.
  kKernel,
  kCollective,
  kCopy,
  kMemset,
  // On the host; the lane is a thread.
  kLaunch,
  kCopyCall,
  kSynchronisation,
  kAllocation,
  kRuntimeCall,  // others of the runtime
  kLoader,
  kCheckpoint,
  kLogging,
  kOperator,
  kStep,          // a step that the profiler was informed of
  kPossibleStep,  // a range whose name suggests a step; used if there is no kStep
  kOverhead,      // of the profiler
};

struct TraceEvent {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t bytes = 0;  // of a copy
  std::uint32_t name = 0;
  std::uint32_t lane = 0;
  std::uint8_t device = 0;
  TraceActivity activity = TraceActivity::kKernel;
  CopyDirection direction = CopyDirection::kUnknown;
  MemoryKind host_memory = MemoryKind::kUnknown;  // of a copy
};

// Memory of a device that was allocated from CUDA, or released.
struct MemoryChange {
  std::int64_t time_ns = 0;
  std::int64_t bytes = 0;  // negative: released
};

// Arithmetic of an operator, from its shapes (operator_work.h).
struct OperatorWork {
  std::int64_t begin_ns = 0;  // on the host
  double operations = 0;
  bool is_16_bits = false;
};

inline constexpr std::size_t kMostEvents = 16'000'000;  // 640 MB; a Kineto trace of 4 GB has about as many
inline constexpr int kMostDevices = 64;
inline constexpr std::int64_t kLatestNs = std::int64_t{1} << 61;  // 73 years; differences of times do not overflow

class TraceEvents {
 public:
  explicit TraceEvents(std::size_t limit = kMostEvents) : limit_(limit) {}

  [[nodiscard]] std::uint32_t name_id(std::string_view name);
  [[nodiscard]] const std::string& name(std::uint32_t id) const { return names_[id]; }
  [[nodiscard]] std::size_t names() const { return names_.size(); }
  // A number for the thread or stream of this name, for example "4711/4712".
  [[nodiscard]] std::uint32_t lane_id(std::string_view lane);
  [[nodiscard]] const std::string& lane(std::uint32_t id) const { return lane_names_[id]; }

  // Ignores events that end before they begin, those without duration except kernels and copies, and times outside of
  // +-kLatestNs.
  void add(const TraceEvent& event);
  // What is known of a device before its events. Numbers from kMostDevices on are ignored.
  [[nodiscard]] DeviceUse* device(std::int64_t index);

  [[nodiscard]] std::vector<TraceEvent>& events() { return events_; }
  [[nodiscard]] const std::vector<TraceEvent>& events() const { return events_; }
  [[nodiscard]] std::int64_t left_out() const { return left_out_; }
  [[nodiscard]] const std::map<int, DeviceUse>& devices() const { return devices_; }

  // Facts for the TraceUse.
  std::string format;
  Framework framework = Framework::kUnknown;
  std::int64_t image_bytes = 0;
  std::vector<MemoryChange> memory;  // of all devices, in order
  std::vector<MemoryChange> pinned;  // of the host, in order
  std::vector<OperatorWork> work;
  std::vector<Interval> recorded;  // in order, disjoint; empty: everything from the first event to the last one

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Numbers = std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>>;

  void give_up_operators();

  std::size_t limit_;
  bool has_operators_ = true;
  std::int64_t left_out_ = 0;
  std::vector<TraceEvent> events_;
  std::vector<std::string> names_, lane_names_;
  Numbers ids_, lanes_;
  std::map<int, DeviceUse> devices_;
};

}  // namespace unstarve
