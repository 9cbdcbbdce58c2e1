#pragma once
// The report's figures as JSON for its charts: {"sections": [{"ledger", "before", "after", "figures"}]}, each of the
// last three null where there is none. Threads: pure.

#include <string>

#include "unstarve/observe/report.h"

namespace unstarve {

[[nodiscard]] std::string report_island(const Report& report);

}  // namespace unstarve
