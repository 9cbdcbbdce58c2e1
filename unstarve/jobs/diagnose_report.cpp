// The report of diagnose.

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "unstarve/core/statistics.h"
#include "unstarve/jobs/common/findings.h"
#include "unstarve/jobs/common/lost_time.h"
#include "unstarve/jobs/common/report_parts.h"
#include "unstarve/jobs/common/trace_report.h"
#include "unstarve/jobs/diagnose_trace.h"
#include "unstarve/jobs/watch.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

std::vector<ReportTile> tiles_of_trace(const TraceUse& trace) {
  std::vector<ReportTile> tiles;
  double busy = 0;
  for (const DeviceUse& device : trace.devices) busy += device.busy_s;
  if (!trace.devices.empty()) {
    tiles.push_back({format_percent(busy / trace.analysed_s / static_cast<double>(trace.devices.size())),
                     "of the time a kernel runs, mean of all accelerators"});
  }
  if (!trace.steps.empty())
    tiles.push_back({format_rate(1e3 * median(step_seconds_of(trace))) + " ms", "per step, median"});
  const double loader = trace.parts[static_cast<std::size_t>(StepActivity::kLoader)];
  if (loader > 0) tiles.push_back({format_percent(loader / trace.analysed_s), "of the time only the loader works"});
  return tiles;
}

}  // namespace

Report report_of(const TraceDiagnosis& diagnosis, const std::string& command) {
  if (!diagnosis.profile.trace || diagnosis.profile.watching.seconds > 0) {
    Report report = report_of(WatchResult{diagnosis.profile, diagnosis.findings}, command);
    report.title = "unstarve diagnose";
    report.machine_title = kMachineOfPage;
    return report;
  }
  const TraceUse& trace = *diagnosis.profile.trace;
  Report report = report_of_now("unstarve diagnose", command);
  report.machine_title = kMachineOfPage;
  CurveSection section;
  section.title = std::filesystem::path(diagnosis.path).filename().string();
  section.verdict = printable(verdict_of(diagnosis.findings));
  section.findings = report_findings(diagnosis.findings);
  section.notes.push_back(fmt::format("{} trace of {}; {} steps; {:.2f} s analysed of {:.2f} s; {} events.",
                                      trace.format, to_string(trace.framework), trace.steps.size(), trace.analysed_s,
                                      trace.observed_s, trace.events));
  for (const std::string& note : malformed_notes(trace.malformed)) section.notes.push_back(note + ".");
  if (trace.analysed_s > 0) {
    section.tiles = tiles_of_trace(trace);
    add_trace(section, trace);
    if (!lost_time(diagnosis.profile).empty()) {
      section.bars.insert(section.bars.begin() + 1, lost_time_chart(diagnosis.profile));
      section.tables.insert(section.tables.begin(), lost_time_table(diagnosis.profile));
    }
    if (BarChart chart = step_histogram(step_seconds_of(trace)); !chart.bars.empty())
      section.bars.push_back(std::move(chart));
  }
  report.curves.push_back(std::move(section));
  return report;
}

}  // namespace unstarve
