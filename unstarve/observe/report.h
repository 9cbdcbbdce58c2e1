#pragma once
// The HTML report: one file that opens offline, with its plotting library, data and style inside.
//
// Content: ladders as chart and table, the step split, utilisation over time, the bench figures, the machine's facts.
// Threads: pure functions. Failure: write_report() throws Error(kIo) and leaves no partial file.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/core/profile.h"
#include "unstarve/observe/ledger.h"
#include "unstarve/observe/machine.h"
#include "unstarve/observe/verdict.h"

namespace unstarve {

struct ReportSection {
  Ledger ledger;                       // may have no entries (a bench)
  std::optional<RatioInterval> total;  // winner against base, measured on its own
  std::optional<Profile> before;       // base settings' run
  std::optional<Profile> after;        // winning settings' run
  std::optional<BenchFigures> figures;
  std::string verdict;  // one sentence
};

struct Report {
  std::string title;    // "unstarve tune photos/"
  std::string command;  // what was typed
  std::string created;  // ISO 8601, UTC
  std::string version;  // of unstarve
  MachineFacts machine;
  std::vector<ReportSection> sections;
};

[[nodiscard]] std::string render_report(const Report& report);
void write_report(const Report& report, const std::filesystem::path& path);

}  // namespace unstarve
