#include <algorithm>
#include <array>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {

std::span<const Rule> rules() {
  static const std::array kRules{
#define RULE(name) name,
#include "unstarve/diagnose/rules/rule_table.inl"
#undef RULE
  };
  return kRules;
}

Confidence confidence_of(const RunProfile& profile, const Rule& rule, double lost) {
  constexpr double kLarge = 0.2;  // share of the run, or of the cores
  const bool watched = profile.watching.seconds > 0;
  const double steps = profile.trace ? static_cast<double>(profile.trace->steps.size()) : 0;
  const double amount = watched ? steady_seconds(profile) : steps;  // of evidence
  const double few = watched ? 10 : 8, many = 30;
  if (amount < few || rule.if_unexplained) return Confidence::kLow;
  const bool disturbed = watched && rule.find != kOtherPrograms.find && taken_share(profile) >= kLarge;
  return amount >= many && lost >= kLarge && !disturbed ? Confidence::kHigh : Confidence::kMedium;
}

std::vector<RunFinding> findings_of(const RunProfile& profile) {
  std::vector<RunFinding> findings;
  // What a disturbed recording shows permits no conclusion; few-steps says so.
  RunProfile without_trace;
  const bool disturbed = profile.trace && is_disturbed(*profile.trace);
  if (disturbed) {
    without_trace = profile;
    without_trace.trace.reset();
  }
  const UsedLibraries used = libraries_of(profile);
  double explained = 0;  // by rules without the flag if_unexplained
  const auto apply = [&](bool if_unexplained) {
    for (const Rule& rule : rules()) {
      if (rule.if_unexplained != if_unexplained) continue;
      std::optional<RunFinding> finding = rule.find(disturbed && rule.find != kFewSteps.find ? without_trace : profile);
      if (!finding || (if_unexplained && explained >= finding->lost / 2)) continue;
      finding->rule = rule.name;
      finding->confidence = confidence_of(profile, rule, finding->lost);
      if (finding->change.empty()) finding->change = change_for(used, finding->changes);
      if (!if_unexplained && rule.explains) explained = std::max(explained, finding->lost);
      findings.push_back(std::move(*finding));
    }
  };
  apply(false);
  apply(true);
  std::ranges::stable_sort(findings, [](const RunFinding& a, const RunFinding& b) {
    return a.ends_run != b.ends_run ? a.ends_run : a.lost > b.lost;
  });
  return findings;
}

}  // namespace unstarve
