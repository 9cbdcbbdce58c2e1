#pragma once
// The tables of the report, as HTML, and the figures of its charts, as JSON. The tables hold all figures and are
// readable without scripts; charts only draw these figures.
//
// Threads: pure functions. `link`: markup after the caption.

#include <string>

#include "unstarve/observe/report.h"

namespace unstarve {

[[nodiscard]] std::string comparison_table(const Comparison& comparison, const std::string& link);
[[nodiscard]] std::string ladder_table(const Ledger& ledger, const std::string& link);
// Time per part of a step, before and after; each may be null.
[[nodiscard]] std::string step_table(const Profile* before, const Profile* after, const std::string& link);
// Time per stage of the loader, before and after; each may be null.
[[nodiscard]] std::string stage_table(const Profile* before, const Profile* after, const std::string& link);
// {"sections": [{"ledger", "before", "after"}], "bars", "curves", "timelines", "flames": [island_of()]}; "before" and
// "after" are null if absent.
[[nodiscard]] std::string report_island(const Report& report);

}  // namespace unstarve
