#pragma once
// `unstarve diagnose FILE FILE ...`: what `unstarve watch --out` has written on the hosts of one job, or for its ranks,
// as one diagnosis: which rank delays the others, and what each file shows alone.
//
// Threads: one caller.
// Failure: Error(kIo) if a file cannot be read; Error(kInput) for traces of other profilers, for files without ranks,
//          and for one rank in two files.

#include <optional>
#include <string>
#include <vector>

#include "unstarve/diagnose/profile/run_profile.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/observe/report.h"

namespace unstarve {

struct RanksDiagnosis {
  std::vector<RankUse> ranks;         // of all files, see sort_ranks()
  std::vector<RunFinding> findings;   // of the ranks together first, then those of the files, most lost time first
  std::optional<double> too_short_s;  // the shortest time that a program was watched, if it permits no conclusions
};

[[nodiscard]] RanksDiagnosis diagnose_ranks(const std::vector<std::string>& paths);
// `names`: of the profiles, for messages.
[[nodiscard]] RanksDiagnosis diagnose_ranks(const std::vector<RunProfile>& profiles,
                                            const std::vector<std::string>& names);

[[nodiscard]] std::string to_text(const RanksDiagnosis& diagnosis);
[[nodiscard]] Report report_of(const RanksDiagnosis& diagnosis, const std::string& command);
// See "diagnose" in docs/reference/json.md.
[[nodiscard]] std::string to_json(const RanksDiagnosis& diagnosis);

}  // namespace unstarve
