#include "unstarve/jobs/diagnose_trace.h"

#include <nlohmann/json.hpp>

#include "unstarve/diagnose/traces/trace_file.h"
#include "unstarve/jobs/common/findings.h"
#include "unstarve/jobs/common/trace_report.h"
#include "unstarve/jobs/watch.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

// Whether it is a result of watch, which may have a trace, too.
bool is_watched(const TraceDiagnosis& diagnosis) {
  return !diagnosis.profile.trace || diagnosis.profile.watching.seconds > 0;
}

}  // namespace

TraceDiagnosis diagnose_trace(const std::string& path) {
  TraceDiagnosis diagnosis;
  diagnosis.path = path;
  diagnosis.profile = read_trace(path);
  diagnosis.findings = is_watched(diagnosis) ? explain_run(diagnosis.profile).findings : findings_of(diagnosis.profile);
  return diagnosis;
}

std::string to_text(const TraceDiagnosis& diagnosis) {
  if (is_watched(diagnosis)) return to_text(WatchResult{diagnosis.profile, diagnosis.findings});
  const TraceUse& trace = *diagnosis.profile.trace;
  std::string text = printable(verdict_of(diagnosis.findings)) + "\n";
  std::vector<RunFinding> findings = diagnosis.findings;
  for (RunFinding& finding : findings) finding.evidence = printable(finding.evidence);  // has names of the trace
  text += findings_to_text(findings);
  return text + trace_to_text(trace);
}

std::string to_json(const TraceDiagnosis& diagnosis) {
  if (is_watched(diagnosis)) return to_json(WatchResult{diagnosis.profile, diagnosis.findings});
  return diagnosis_to_json(verdict_of(diagnosis.findings), diagnosis.findings, diagnosis.profile);
}

}  // namespace unstarve
