#pragma once
// Rules find causes of lost time in the profile of a run. Each is one row of rule_table.inl, and one file.
//
// A rule without evidence returns nothing. Thresholds are relative to the run.
// Threads: pure functions. Failure: none.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/core/enum_words.h"
#include "unstarve/diagnose/profile/run_profile.h"
#include "unstarve/diagnose/rules/change.h"
#include "unstarve/observe/step_model.h"

namespace unstarve {

inline constexpr double kShortestWatch = 3;  // seconds; shorter runs permit no conclusion

// How much evidence a finding has; see confidence_of().
enum class Confidence { kLow, kMedium, kHigh };
template <>
inline constexpr std::array<std::string_view, 3> kWords<Confidence>{"low", "medium", "high"};

struct RunFinding {
  std::string rule;      // its name in the table
  std::string title;     // the cause, in one sentence
  std::string evidence;  // the figures that show it
  std::string change;    // what to do; findings_of() selects it from `changes` if a rule leaves it empty
  double lost = 0;       // share of the run that the cause takes at most, 0..1: their order after `ends_run`
  GainPrediction gain;   // predicted throughput after the change, relative to now
  Changes changes{};     // for all libraries; empty: `change` applies to all
  Confidence confidence = Confidence::kMedium;
  bool ends_run = false;  // if it continues, the run ends: before all others, whatever time it takes
};

struct Rule {
  const char* name;
  const char* threshold;  // when it finds something, for the reference
  std::optional<RunFinding> (*find)(const RunProfile& profile);
  bool if_unexplained = false;  // its finding is left out if another one that explains takes half as much time
  bool explains = true;         // the time that it takes may be why the program waits in the steady part of the run
};

// By the amount of evidence:
//   low     the program was watched for less than 10 s after its start, or the trace has less than 8 steps; or the
//           cause was found because nothing else explains the time
//   high    it was watched for 30 s or the trace has 30 steps, the cause takes a fifth of the run, and other programs,
//           except those that are the cause, take less than a fifth of the usable cores
//   medium  otherwise
[[nodiscard]] Confidence confidence_of(const RunProfile& profile, const Rule& rule, double lost);

#define RULE(name) extern const Rule name;
#include "unstarve/diagnose/rules/rule_table.inl"
#undef RULE

[[nodiscard]] std::span<const Rule> rules();

// The findings of all rules, most lost time first, with their confidence.
[[nodiscard]] std::vector<RunFinding> findings_of(const RunProfile& profile);

}  // namespace unstarve
