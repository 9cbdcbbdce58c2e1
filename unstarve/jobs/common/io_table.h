#pragma once
// I/O and memory of a watched program, as a table and text: reads and what came from the page cache, network, major
// page faults, /dev/shm, locked and pinned memory.
//
// Threads: pure functions. Failure: none.

#include <string>
#include <vector>

#include "unstarve/diagnose/profile/run_profile.h"
#include "unstarve/observe/curves.h"

namespace unstarve {

// Rates with mean, median and percentiles; without rows if the run was too short.
[[nodiscard]] FiguresTable io_table(const RunProfile& profile);
// What the table does not have, each as a sentence without its full stop.
[[nodiscard]] std::vector<std::string> memory_notes(const RunProfile& profile);
[[nodiscard]] std::string io_to_text(const RunProfile& profile);

}  // namespace unstarve
