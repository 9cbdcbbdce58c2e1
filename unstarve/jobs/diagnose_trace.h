#pragma once
// `unstarve diagnose TRACE`: explain why a program is slow, from the trace of another profiler or from what
// `unstarve watch` has written.
//
// Threads: one caller.
// Failure: Error(kIo) if the file cannot be read; Error(kInput) for an unknown format, damage or truncation.
// Cost:    see diagnose/traces/trace_events.h.

#include <string>
#include <vector>

#include "unstarve/diagnose/profile/run_profile.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/observe/report.h"

namespace unstarve {

struct TraceDiagnosis {
  std::string path;
  RunProfile profile;
  std::vector<RunFinding> findings;
};

[[nodiscard]] TraceDiagnosis diagnose_trace(const std::string& path);

[[nodiscard]] std::string to_text(const TraceDiagnosis& diagnosis);
// See diagnosis_to_json() (common/findings.h).
[[nodiscard]] std::string to_json(const TraceDiagnosis& diagnosis);
// Defined in diagnose_report.cpp. `command`: the command line, shown in the report.
[[nodiscard]] Report report_of(const TraceDiagnosis& diagnosis, const std::string& command);

}  // namespace unstarve
