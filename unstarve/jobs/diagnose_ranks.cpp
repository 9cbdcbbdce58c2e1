#include "unstarve/jobs/diagnose_ranks.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/diagnose/ranks/clock_offset.h"
#include "unstarve/diagnose/ranks/rank_uses.h"
#include "unstarve/diagnose/traces/trace_file.h"
#include "unstarve/jobs/common/findings.h"
#include "unstarve/jobs/common/rank_table.h"
#include "unstarve/jobs/common/report_parts.h"
#include "unstarve/jobs/watch.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

constexpr const char* kStraggler = "straggler-rank";

// Of a file that was not written by this version, or not by watch.
void check_profile(const RunProfile& profile, const std::string& name) {
  if (profile.trace && profile.watching.seconds <= 0) {
    throw Error(ErrorKind::kInput,
                fmt::format("diagnose {}: found a trace of another profiler; expected only outputs of unstarve watch "
                            "--out, if there are several files. Diagnose each trace alone.",
                            name));
  }
  if (profile.ranks.empty()) {
    throw Error(ErrorKind::kInput,
                fmt::format("diagnose {}: found no ranks; expected a program that was watched for its whole training. "
                            "Watch it again with this version of unstarve.",
                            name));
  }
}

// Throws if a program on one host had ended before another one began.
void check_times(const std::vector<RunProfile>& profiles, const std::vector<std::string>& names) {
  const auto begin_of = [](const RunProfile& profile) { return profile.ranks[0].begin_unix_s; };
  for (std::size_t later = 0; later < profiles.size(); ++later) {
    for (std::size_t earlier = 0; earlier < profiles.size(); ++earlier) {
      if (profiles[later].ranks[0].host.name != profiles[earlier].ranks[0].host.name) continue;
      if (begin_of(profiles[later]) <= begin_of(profiles[earlier]) + profiles[earlier].watching.seconds) continue;
      throw Error(ErrorKind::kInput, fmt::format("diagnose {}: found a program that began after the one of {} had "
                                                 "ended; expected ranks of one run. To compare two runs, use unstarve "
                                                 "compare.",
                                                 names[later], names[earlier]));
    }
  }
}

// Throws if two files have the same rank.
void check_ranks(const std::vector<RunProfile>& profiles, const std::vector<std::string>& names) {
  std::map<std::pair<std::string, int>, std::string> processes;  // file by host and process
  std::map<int, std::string> numbers;                            // file by rank
  const auto reject = [](const std::string& name, const RankUse& rank, const std::string& other) {
    throw Error(ErrorKind::kInput, fmt::format("diagnose {}: found {}, which is also in {}; expected the files of "
                                               "different ranks of one run",
                                               name, name_of(rank), other));
  };
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    check_profile(profiles[i], names[i]);
    for (const RankUse& rank : profiles[i].ranks) {
      const auto [process, new_process] = processes.try_emplace({rank.host.name, rank.pid}, names[i]);
      if (!new_process) reject(names[i], rank, process->second);
      if (rank.numbers.global < 0) continue;
      const auto [number, new_number] = numbers.try_emplace(rank.numbers.global, names[i]);
      if (!new_number) reject(names[i], rank, number->second);
    }
  }
  check_times(profiles, names);
}

double used_cores(const RunProfile& profile) {
  double cpu_s = 0;
  for (const ProcessUse& process : profile.processes) cpu_s += process.cpu_s;
  return profile.watching.seconds > 0 ? cpu_s / profile.watching.seconds : 0;
}

// In the order of their first ranks. For the watcher of one rank, other ranks of its host are other programs: they are
// left out.
std::vector<RunProfile> without_other_ranks(const std::vector<RunProfile>& profiles) {
  std::vector<RunProfile> result = profiles;
  for (RunProfile& profile : result) {
    for (const RunProfile& other : profiles) {
      if (other.ranks[0].host.name != profile.ranks[0].host.name || other.ranks[0].pid == profile.ranks[0].pid)
        continue;
      const double used = used_cores(other);
      profile.machine.busy_cores = std::max(profile.machine.busy_cores - used, 0.0);
      for (RankUse& rank : profile.ranks) rank.host.foreign_cores = std::max(rank.host.foreign_cores - used, 0.0);
    }
  }
  std::ranges::sort(result, [](const RunProfile& a, const RunProfile& b) {
    return std::tie(a.ranks[0].numbers.global, a.ranks[0].host.name, a.ranks[0].pid) <
           std::tie(b.ranks[0].numbers.global, b.ranks[0].host.name, b.ranks[0].pid);
  });
  return result;
}

// What each file shows alone. A cause that several have is listed once, with the evidence of the largest loss.
std::vector<RunFinding> findings_of_files(const std::vector<RunProfile>& profiles) {
  struct Shared {
    RunFinding finding;
    std::string names;
  };
  std::vector<Shared> shared;
  for (const RunProfile& profile : profiles) {
    std::string names;
    for (const RankUse& rank : profile.ranks) names += (names.empty() ? "" : ", ") + name_of(rank);
    for (const RunFinding& finding : explain_run(profile).findings) {
      if (finding.rule == kStraggler) continue;  // found in all ranks together
      const auto known =
          std::ranges::find_if(shared, [&](const Shared& one) { return one.finding.title == finding.title; });
      if (known == shared.end()) {
        shared.push_back({finding, names});
        continue;
      }
      known->names += ", " + names;
      if (finding.lost > known->finding.lost) known->finding = finding;
    }
  }
  std::vector<RunFinding> findings;
  for (Shared& one : shared) {
    one.finding.title += fmt::format(" ({})", one.names);
    findings.push_back(std::move(one.finding));
  }
  std::ranges::stable_sort(findings, [](const RunFinding& a, const RunFinding& b) { return a.lost > b.lost; });
  return findings;
}

std::string verdict_of(const RanksDiagnosis& diagnosis) {
  if (!diagnosis.too_short_s) return verdict_of(diagnosis.findings);
  return fmt::format("a program was watched for {:.1f} s: too short for conclusions, which require {:.0f} s",
                     *diagnosis.too_short_s, kShortestWatch);
}

}  // namespace

RanksDiagnosis diagnose_ranks(const std::vector<std::string>& paths) {
  std::vector<RunProfile> profiles;
  for (const std::string& path : paths) profiles.push_back(read_trace(path));
  return diagnose_ranks(profiles, paths);
}

RanksDiagnosis diagnose_ranks(const std::vector<RunProfile>& profiles, const std::vector<std::string>& names) {
  check_ranks(profiles, names);
  const std::vector<RunProfile> alone = without_other_ranks(profiles);
  RunProfile together;
  double shortest_s = alone[0].watching.seconds;
  for (const RunProfile& profile : alone) {
    together.ranks.insert(together.ranks.end(), profile.ranks.begin(), profile.ranks.end());
    shortest_s = std::min(shortest_s, profile.watching.seconds);
  }
  sort_ranks(together.ranks);
  RanksDiagnosis diagnosis;
  diagnosis.ranks = together.ranks;
  if (shortest_s < kShortestWatch) {
    diagnosis.too_short_s = shortest_s;
    return diagnosis;
  }
  diagnosis.findings = findings_of(together);
  for (RunFinding& finding : findings_of_files(alone)) diagnosis.findings.push_back(std::move(finding));
  return diagnosis;
}

std::string to_text(const RanksDiagnosis& diagnosis) {
  return printable(verdict_of(diagnosis)) + "\n" + findings_to_text(diagnosis.findings) +
         ranks_to_text(diagnosis.ranks);
}

Report report_of(const RanksDiagnosis& diagnosis, const std::string& command) {
  Report report = report_of_now("unstarve diagnose", command);
  report.machine_title = kMachineOfPage;
  CurveSection section;
  section.title = fmt::format("{} ranks", diagnosis.ranks.size());
  section.verdict = printable(verdict_of(diagnosis));
  section.findings = report_findings(diagnosis.findings);
  section.tables.push_back(ranks_table(diagnosis.ranks));
  report.curves.push_back(std::move(section));
  return report;
}

std::string to_json(const RanksDiagnosis& diagnosis) {
  RunProfile profile;
  profile.ranks = diagnosis.ranks;
  Json json = parse_ordered_json(diagnosis_to_json(verdict_of(diagnosis), diagnosis.findings, profile));
  Json ranks = json.at("profile").at("ranks");
  json.erase("profile");
  json.erase("sufficient_machine");
  json["ranks"] = std::move(ranks);
  json["clocks"] = Json::array();
  for (const RankUse& rank : diagnosis.ranks) {
    if (&rank == diagnosis.ranks.data()) continue;
    const std::optional<ClockOffset> offset = clock_offset(diagnosis.ranks[0].steps, rank.steps);
    if (!offset) continue;
    json["clocks"].push_back({{"rank", rank.numbers.global},
                              {"process", rank.pid},
                              {"host", rank.host.name},
                              {"seconds", offset->seconds},
                              {"spread_s", offset->spread_s},
                              {"drift", offset->drift},
                              {"steps", offset->steps},
                              {"synchronised", offset->synchronised}});
  }
  return json_text(json, 1);
}

}  // namespace unstarve
