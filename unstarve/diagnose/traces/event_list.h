#pragma once
// One event of a trace, and lists of limited length.
//
// Ownership: owns the events. Threads: one.
// Failure:   none; events of more than `limit` are counted, not stored. When the limit is reached for the first time,
//            the operators are given up, which are the most numerous and the least important.
// Cost:      40 bytes per event.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "unstarve/diagnose/profile/device_use.h"

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
  kModuleLoad,    // of code for the accelerator, when it is first used
};

struct TraceEvent {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t bytes = 0;  // of a copy
  std::uint32_t name = 0;   // TraceEvents::name()
  std::uint32_t lane = 0;   // TraceEvents::lane()
  std::uint8_t device = 0;
  TraceActivity activity = TraceActivity::kKernel;
  CopyDirection direction = CopyDirection::kUnknown;
  MemoryKind host_memory = MemoryKind::kUnknown;  // of a copy
};

inline constexpr std::size_t kMostEvents = 16'000'000;            // 640 MB; a Kineto trace of 4 GB has about as many
inline constexpr std::int64_t kLatestNs = std::int64_t{1} << 61;  // 73 years; differences of times do not overflow

class EventList {
 public:
  explicit EventList(std::size_t limit) : limit_(limit) {}

  // Ignores events that end before they begin, those without duration except kernels and copies, and times outside of
  // +-kLatestNs.
  void add(const TraceEvent& event);

  [[nodiscard]] std::vector<TraceEvent>& events() { return events_; }
  [[nodiscard]] const std::vector<TraceEvent>& events() const { return events_; }
  [[nodiscard]] std::int64_t left_out() const { return left_out_; }

 private:
  void give_up_operators();

  std::size_t limit_;
  bool has_operators_ = true;
  std::int64_t left_out_ = 0;
  std::vector<TraceEvent> events_;
};

// What the driver does for unified memory: page faults, thrashing, throttling. The pages that it copies are events of
// kCopy with MemoryKind::kManaged.
struct UnifiedEvent {
  enum class Kind : std::uint8_t { kCpuFault, kGpuFault, kThrashing, kThrottling };
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;  // as `begin_ns` if it is not known
  std::int64_t count = 1;   // of faults
  Kind kind = Kind::kCpuFault;
};

class UnifiedEvents {
 public:
  explicit UnifiedEvents(std::size_t limit) : limit_(limit) {}

  // Ignores events that end before they begin and times outside of +-kLatestNs. Counts are limited to 2^32.
  void add(const UnifiedEvent& event);

  [[nodiscard]] const std::vector<UnifiedEvent>& events() const { return events_; }
  [[nodiscard]] std::int64_t left_out() const { return left_out_; }

 private:
  std::size_t limit_;
  std::int64_t left_out_ = 0;
  std::vector<UnifiedEvent> events_;
};

}  // namespace unstarve
