#pragma once
// `unstarve tune`: try optimisations one by one on the user's data, keep those that help, and report the results.
//
// Threads: one caller. Failure: as run_ladder().

#include <filesystem>
#include <string>
#include <vector>

#include "unstarve/core/profile.h"
#include "unstarve/core/statistics.h"
#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/settings/settings.h"
#include "unstarve/observe/ledger.h"

namespace unstarve {

struct Report;

struct TuneOptions {
  Settings settings;  // tuning starts from base_of() of these
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

// The text of the settings file, with a comment that names its origin.
[[nodiscard]] std::string winner_yaml(const TuneResult& result, const std::string& command);
[[nodiscard]] Report report_of(const std::vector<TuneResult>& results, const std::string& title,
                               const std::string& command);
// The table and the verdict.
[[nodiscard]] std::string to_text(const TuneResult& result, int width);
// The object of the ledger with total, verdict, before and after.
[[nodiscard]] std::string to_json(const TuneResult& result);

}  // namespace unstarve
