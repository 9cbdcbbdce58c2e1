#pragma once
// The findings of rules as text and JSON, for the commands that diagnose.
//
// Threads: pure functions. Failure: none.

#include <span>
#include <string>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/jobs/common/json.h"

namespace unstarve {

// "1.95 times the throughput, predicted; between 1.70 and 2.20"; empty: unknown.
[[nodiscard]] std::string gain_text(const RunFinding& finding);

// The title of the first one, which loses most.
[[nodiscard]] std::string verdict_of(std::span<const RunFinding> findings);

// Numbered, each with evidence, change and gain, and with its confidence unless that is high.
[[nodiscard]] std::string findings_to_text(std::span<const RunFinding> findings);

// {"verdict", "findings": [{rule, title, evidence, change, changes ({"pytorch", "tensorflow", "jax", "unstarve": those
// that have a text of their own}), confidence, lost, gain (null: unknown), gain_interval ([low, high] or null)}],
// "sufficient_machine": {cores, memory_bytes} or null: see sufficient_machine(),
// "profile": see run_profile.h}
[[nodiscard]] std::string diagnosis_to_json(const std::string& verdict, std::span<const RunFinding> findings,
                                            const RunProfile& profile);

}  // namespace unstarve
