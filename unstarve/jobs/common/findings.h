#pragma once
// The findings of rules as text and JSON, for the verbs that diagnose.
//
// Threads: pure functions. Failure: none.

#include <span>
#include <string>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/jobs/common/json.h"

namespace unstarve {

// Numbered, each with evidence, change and gain.
[[nodiscard]] std::string findings_to_text(std::span<const RunFinding> findings);

// {"verdict", "findings": [{rule, title, evidence, change, lost, gain (null: unknown)}], "profile": see run_profile.h}
[[nodiscard]] std::string diagnosis_to_json(const std::string& verdict, std::span<const RunFinding> findings,
                                            const RunProfile& profile);

}  // namespace unstarve
