#pragma once
// Rules find causes of lost time in the profile of a run. Each is one row of rule_table.inl, and one file;
// rules that share their test share a file.
//
// A rule without evidence returns nothing. Thresholds are relative to the run.
// Threads: pure functions. Failure: none.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "unstarve/diagnose/profile/run_profile.h"
#include "unstarve/diagnose/rules/change.h"
#include "unstarve/observe/step_model.h"

namespace unstarve {

struct RunFinding {
  std::string rule;      // its name in the table
  std::string title;     // the cause, in one sentence
  std::string evidence;  // the figures that show it
  std::string change;    // what to do; findings_of() selects it from `changes` if a rule leaves it empty
  double lost = 0;       // share of the run that the cause takes at most, 0..1: the order of the findings
  GainPrediction gain;   // predicted throughput after the change, relative to now
  Changes changes{};     // for all libraries; empty: `change` applies to all
};

struct Rule {
  const char* name;
  const char* threshold;  // when it finds something, for the reference
  std::optional<RunFinding> (*find)(const RunProfile& profile);
  bool if_unexplained = false;  // its finding is left out if another one takes at least half as much time
};

#define RULE(name) extern const Rule name;
#include "unstarve/diagnose/rules/rule_table.inl"
#undef RULE

[[nodiscard]] std::span<const Rule> rules();

// The findings of all rules, most lost time first.
[[nodiscard]] std::vector<RunFinding> findings_of(const RunProfile& profile);

}  // namespace unstarve
