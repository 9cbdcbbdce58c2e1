#pragma once
// What the driver does for unified memory: page faults, thrashing, throttling. The pages that it copies are events of
// kCopy with MemoryKind::kManaged.
//
// Threads: one at a time. Ownership: values.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace unstarve {

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
