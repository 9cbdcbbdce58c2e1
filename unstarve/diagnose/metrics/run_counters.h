#pragma once
// What a watched run has used since its beginning, by role, as counters that never decrease.
//
// The role of a process may change, and processes that have ended are added up without their role (task_tree.h). What a
// process uses between two calls of add() counts for the role that it has at the second one, and remains there.
//
// Ownership: values. Threads: one at a time. Failure: none. Memory: one entry for each process of the profile.

#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

class RunCounters {
 public:
  // What the main threads of processes wait for.
  static constexpr std::array kWaits{&ThreadWaits::lock_s, &ThreadWaits::file_s,    &ThreadWaits::flush_s,
                                     &ThreadWaits::pipe_s, &ThreadWaits::network_s, &ThreadWaits::events_s,
                                     &ThreadWaits::sleep_s};
  struct Use {
    double cpu_s = 0, run_delay_s = 0, storage_bytes = 0;
    std::array<double, kWaits.size()> waits_s{};
  };

  // `profile`: of the same run as before, or of a later time.
  void add(const RunProfile& profile);

  [[nodiscard]] const Use& of(ProcessRole role) const { return roles_[static_cast<std::size_t>(role)]; }
  [[nodiscard]] double watch_cpu_s() const { return watch_cpu_s_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }  // 0: unknown

 private:
  using Id = std::pair<int, double>;  // a number may be used again: with the begin
  std::array<Use, words_of<ProcessRole>().size()> roles_;
  std::map<Id, Use> processes_;  // at the latest add()
  Use merged_;                   // of the processes without a number, at the latest add()
  double watch_cpu_s_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace unstarve
