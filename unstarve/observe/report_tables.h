#pragma once
// The tables of the report. They hold all figures and are readable without scripts; charts only draw these figures.
//
// Threads: pure functions that return HTML.

#include <string>

#include "unstarve/observe/report.h"

namespace unstarve {

[[nodiscard]] std::string ladder_table(const Ledger& ledger);
// Time per part of a step, before and after; each may be null.
[[nodiscard]] std::string step_table(const Profile* before, const Profile* after);
// Time per stage of the loader, before and after; each may be null.
[[nodiscard]] std::string stage_table(const Profile* before, const Profile* after);
[[nodiscard]] std::string bench_table(const BenchFigures& figures);
[[nodiscard]] std::string bench_facts(const BenchFigures& figures);

}  // namespace unstarve
