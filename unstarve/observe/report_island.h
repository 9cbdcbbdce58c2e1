#pragma once
// The report's figures as JSON for its charts: {"sections": [{"ledger", "before", "after", "figures"}]}. The last three
// are null if absent.
//
// Threads: pure functions.

#include <string>

#include "unstarve/observe/report.h"

namespace unstarve {

[[nodiscard]] std::string report_island(const Report& report);

}  // namespace unstarve
