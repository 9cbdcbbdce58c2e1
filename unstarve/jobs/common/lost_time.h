#pragma once
// The time that causes take: GPU-seconds of a trace in which no accelerator works, or, of a program without
// accelerators or a watched one, seconds of the main thread.
//
// Threads: pure functions. Failure: none.

#include <string>
#include <vector>

#include "unstarve/diagnose/profile/run_profile.h"
#include "unstarve/observe/curves.h"

namespace unstarve {

struct LostTime {
  std::string cause;
  double seconds = 0;  // times the number of accelerators, if there are any
  double share = 0;    // of the analysed time, 0..1
};

// Most time first. Empty if nothing is known: no trace and no stacks.
[[nodiscard]] std::vector<LostTime> lost_time(const RunProfile& profile);
[[nodiscard]] BarChart lost_time_chart(const RunProfile& profile);  // without bars if nothing is known
[[nodiscard]] FiguresTable lost_time_table(const RunProfile& profile);

}  // namespace unstarve
