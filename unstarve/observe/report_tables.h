#pragma once
// The report's tables: the truth of the page, readable without scripts; the charts only draw what they say.
//
// Threads: pure functions that return HTML.

#include <string>

#include "unstarve/observe/report.h"

namespace unstarve {

[[nodiscard]] std::string ladder_table(const Ledger& ledger);
// Parts of a step, before and after; either may be missing.
[[nodiscard]] std::string step_table(const Profile* before, const Profile* after);
// Stages of the loader, before and after; either may be missing.
[[nodiscard]] std::string stage_table(const Profile* before, const Profile* after);
[[nodiscard]] std::string bench_table(const BenchFigures& figures);
[[nodiscard]] std::string bench_facts(const BenchFigures& figures);

}  // namespace unstarve
