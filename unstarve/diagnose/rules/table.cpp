#include <algorithm>
#include <array>

#include "unstarve/diagnose/rules/rule.h"

namespace unstarve {

std::span<const Rule> rules() {
  static const std::array kRules{
#define RULE(name) name,
#include "unstarve/diagnose/rules/rule_table.inl"
#undef RULE
  };
  return kRules;
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
  double explained = 0;
  const auto apply = [&](bool if_unexplained) {
    for (const Rule& rule : rules()) {
      if (rule.if_unexplained != if_unexplained) continue;
      std::optional<RunFinding> finding = rule.find(disturbed && rule.find != kFewSteps.find ? without_trace : profile);
      if (!finding || (if_unexplained && explained >= finding->lost / 2)) continue;
      finding->rule = rule.name;
      if (finding->change.empty()) finding->change = change_for(used, finding->changes);
      findings.push_back(std::move(*finding));
    }
  };
  apply(false);
  for (const RunFinding& finding : findings) explained = std::max(explained, finding.lost);
  apply(true);
  std::ranges::stable_sort(findings, [](const RunFinding& a, const RunFinding& b) { return a.lost > b.lost; });
  return findings;
}

}  // namespace unstarve
