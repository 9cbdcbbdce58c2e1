#pragma once
// Reduces the profile of a host to its ranks: the processes with the role kMain.
//
// Threads: pure functions. Failure: none.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

// What probes know of a process in addition to its ProcessUse.
struct RankFacts {
  RankNumbers numbers;
  PythonStacks stacks;
  RankSteps steps;
};

// `facts`: by process id; those of other processes are ignored. In the order of their numbers, then of their process
// ids. Processes that lived for less than a tenth of the run are left out.
[[nodiscard]] std::vector<RankUse> rank_uses(const RunProfile& profile, const std::string& host, double begin_unix_s,
                                             const std::map<int, RankFacts>& facts);

[[nodiscard]] RankStacks rank_stacks(const PythonStacks& stacks);

// By number, host and process id.
void sort_ranks(std::vector<RankUse>& ranks);

// "rank 3 on node7", or "process 4711 on node7" if its number is unknown.
[[nodiscard]] std::string name_of(const RankUse& rank);

}  // namespace unstarve
