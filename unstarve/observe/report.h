#pragma once
// The HTML report: a single file that opens offline, with data, style and plotting library inlined.
//
// Content: the comparison with other loaders, tuning steps as chart and table, time per part of a step, utilisation
// over time, curves, machine facts. Every figure links to the command that measures it.
// Threads: any. Failure: write_report() throws Error(kIo) and leaves no partial file.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/core/profile.h"
#include "unstarve/observe/comparison.h"
#include "unstarve/observe/curves.h"
#include "unstarve/observe/ledger.h"
#include "unstarve/observe/machine.h"

namespace unstarve {

struct ReportSection {
  Ledger ledger;
  std::optional<RatioInterval> total;  // winner compared with the base, measured separately
  std::optional<Profile> before;       // run with the base settings
  std::optional<Profile> after;        // run with the winning settings
  std::string verdict;                 // one sentence
  std::string command;                 // repeats the measurement of this section; "": that of the report
};

struct Report {
  std::string title;    // "unstarve tune photos/"
  std::string command;  // command line
  std::string created;  // ISO 8601, UTC
  std::string version;  // of unstarve
  MachineFacts machine;
  std::string machine_title = "Machine";  // of the section with its facts
  std::optional<Comparison> comparison;   // the first part of the page
  std::vector<ReportSection> sections;
  std::vector<CurveSection> curves;   // after the sections
  std::vector<std::string> left_out;  // parts without figures, with the reason
};

// A report without parts, of this version, machine and time.
[[nodiscard]] Report report_of_now(std::string title, std::string command);

[[nodiscard]] std::string render_report(const Report& report);
void write_report(const Report& report, const std::filesystem::path& path);

}  // namespace unstarve
