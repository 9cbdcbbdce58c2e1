#pragma once
// MachineFacts as labelled text, in one order for `doctor` and all reports, and as JSON.
//
// Threads: pure functions.

#include <string>
#include <vector>

#include "unstarve/observe/machine.h"

namespace unstarve {

struct Fact {
  std::string name;
  std::string value;  // empty: unknown or not applicable; not shown
};

[[nodiscard]] std::vector<Fact> describe(const MachineFacts& machine);

// {"cpu_model", "cores": {"usable", "online", "affinity", "quota", "numa_nodes", "threads_per_core"},
// "instruction_sets": [..], "memory_bytes", ...}: keys are the field names of MachineFacts; "quota" is null without a
// CPU quota, "accelerators" contains {"address", "vendor", "driver", "numa_node" (null if unknown)}.
[[nodiscard]] std::string to_json(const MachineFacts& machine);

}  // namespace unstarve
