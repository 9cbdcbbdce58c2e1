#pragma once
// `unstarve tune`: climbs the ladder on the user's data, prints the table, writes the winning settings and the report.
//
// Threads: one caller. Failure: as climb(); Error(kIo) when the YAML or the report cannot be written (nothing partial
// is left under their names).

#include <filesystem>
#include <string>
#include <vector>

#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/ladder/ladder.h"
#include "unstarve/observe/report.h"

namespace unstarve {

struct TuneOptions {
  Settings settings;  // the ladder starts from their base_of()
  std::string device = "cpu";
  double minutes = 3;
};

struct TuneResult {
  Ledger ledger;
  Settings winner;
  RatioInterval total;
  Profile before, after;
  std::string verdict;  // one sentence
};

[[nodiscard]] TuneResult run_tune(const TuneOptions& options, const Progress& progress = {});

// The settings file's text, with a comment that says where it comes from.
[[nodiscard]] std::string winner_yaml(const TuneResult& result, const std::string& command);
[[nodiscard]] Report report_of(const std::vector<TuneResult>& results, const std::string& title,
                               const std::string& command);
// The table and the verdict.
[[nodiscard]] std::string to_text(const TuneResult& result, int width);
// The ledger's object with title, verdict, total ratio and settings' path added.
[[nodiscard]] std::string to_json(const TuneResult& result);

}  // namespace unstarve
