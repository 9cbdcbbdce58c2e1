#pragma once
// The part of a run after its start: imports and the first steps would distort the shares of a short run.
//
//   snapshots of all processes, the first after 1 s, each after 1.1 times the time of the one before
//   the steady part begins at the last snapshot of the first half of the run, so that it has at least half of it
//
// Ownership: values. Threads: one. Failure: none. Memory: nine snapshots.

#include <vector>

#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

class SteadyPart {
 public:
  // What the processes have used until `seconds`; ascending.
  void add(double seconds, const std::vector<ProcessUse>& processes);
  // Sets the steady part of a profile that ends at `seconds`, the time of the last add() or later. Without a
  // snapshot it is the whole run.
  void set(RunProfile& profile, double seconds) const;

 private:
  struct Snapshot {
    double seconds = 0;
    std::vector<ProcessUse> processes;
  };
  std::vector<Snapshot> snapshots_;  // the last of the first half, and all later ones
};

// What `now` has used since `before`, `since_s` seconds after the beginning: processes that have ended by then are left
// out. Peaks, memory and roles are those of `now`.
[[nodiscard]] std::vector<ProcessUse> use_since(const std::vector<ProcessUse>& now,
                                                const std::vector<ProcessUse>& before, double since_s);

}  // namespace unstarve
