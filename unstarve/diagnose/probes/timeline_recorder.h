#pragma once
// Busy cores of the roles over time, in a list of limited size: when it is full, two points become one.
//
// Threads: one at a time. Failure: only std::bad_alloc.

#include <map>
#include <span>

#include "unstarve/diagnose/probes/proc_text.h"
#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

class TimelineRecorder {
 public:
  // `processes` with their roles, at `seconds` since the beginning; the first call is the beginning. `gpu`: utilisation
  // of the GPUs since the latest call; negative: unknown, which counts as 0 if it was known before or becomes known.
  // `network`: in all.
  void add(double seconds, std::span<const ProcessUse> processes, double gpu = -1, const NetworkBytes& network = {});
  [[nodiscard]] const RunTimeline& timeline() const { return timeline_; }

 private:
  RunTimeline timeline_{1, {}, {}, {}, {}, {}};
  double seconds_ = -1;
  std::map<int, ProcessUse> before_;  // by process; without threads
  NetworkBytes network_before_;
};

}  // namespace unstarve
