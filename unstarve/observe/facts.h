#pragma once
// The machine's facts in words, in one order for `doctor` and every report, and as JSON.
//
// Threads: pure functions.

#include <string>
#include <vector>

#include "unstarve/observe/machine.h"

namespace unstarve {

struct Fact {
  std::string name;
  std::string value;  // empty: not known, or does not apply here; whoever shows facts leaves it out
};

[[nodiscard]] std::vector<Fact> describe(const MachineFacts& machine);

// {"cpu_model", "cores": {"usable", "online", "affinity", "quota", "numa_nodes", "threads_per_core"},
// "instruction_sets": [..], "memory_bytes", ...}: the fields of MachineFacts by their names; quota is null when there
// is none.
[[nodiscard]] std::string to_json(const MachineFacts& machine);

}  // namespace unstarve
