#pragma once
// The numbers that launchers give to the ranks of a program in their environment (RANK, LOCAL_RANK ...).
//
// Threads: one at a time. Failure: only std::bad_alloc; ranks of other users have no numbers.

#include <map>
#include <span>

#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

class ProcessRanks {
 public:
  // Reads the environment of processes that train, once: only that with which a process was started is known.
  void read(std::span<const ProcessUse> processes);
  [[nodiscard]] const std::map<int, RankNumbers>& numbers() const { return numbers_; }  // by process id

 private:
  std::map<int, RankNumbers> numbers_;
};

}  // namespace unstarve
