// The report and the recording of compare.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <tuple>
#include <utility>

#include "unstarve/jobs/common/report_parts.h"
#include "unstarve/jobs/compare_runs.h"
#include "unstarve/observe/format.h"
#include "unstarve/observe/report.h"

namespace unstarve {
namespace {

std::string speed_text(const RatioInterval& ratio) {
  if (!std::isfinite(ratio.ratio)) return "";
  return ratio.high > 0 ? fmt::format("{:.3f} [{:.3f}, {:.3f}]", ratio.ratio, ratio.low, ratio.high)
                        : fmt::format("{:.3f}", ratio.ratio);
}

const char* verdict_of_part(const ComparedPart& part) {
  if (part.ratio.high <= 0) return "no interval";
  if (part.ratio.high < 1) return "slower";
  return part.ratio.low > 1 ? "faster" : "no significant difference";
}

// Both runs of each part below each other.
BarChart part_bars(const std::vector<ComparedPart>& parts) {
  BarChart chart;
  chart.title = "Parts of both runs, " + parts[0].unit;
  chart.unit = parts[0].unit == "ms per step" ? "ms" : parts[0].unit;
  for (const ComparedPart& part : parts) {
    for (const auto& [name, value] : {std::pair{"before", part.before}, {"after", part.after}})
      chart.bars.push_back(plain_bar(fmt::format("{}, {}", part.name, name), value, format_rate(value)));
  }
  return chart;
}

// Without their parts.
std::vector<double> step_seconds(const std::vector<RecordedSpan>& spans) {
  std::vector<double> seconds;
  for (const RecordedSpan& span : spans)
    if (span.name.starts_with("step ")) seconds.push_back(span.seconds);
  return seconds;
}

// Of bench: the parts of steps. Of watch: what the threads did. `run`: "Before" or "After".
Timeline timeline_of_run(const char* run, const std::vector<RecordedSpan>& steps, const ThreadWindow& threads) {
  const bool has_parts = std::ranges::any_of(steps, [](const RecordedSpan& span) { return span.name == "compute"; });
  Timeline timeline = has_parts ? timeline_of_steps("a few steps", std::array{RecordedTrack{"", "parts", steps}},
                                                    {"wait for data", "copy", "compute"})
                                : timeline_of_threads(threads);
  timeline.title = fmt::format("{}: {}", run, timeline.title);
  return timeline;
}

}  // namespace

Recording recording_of(const RunComparison& comparison, const std::string& command) {
  Recording recording;
  recording.command = command;
  for (const auto& [run, name, steps] : {std::tuple{"before", &comparison.before, &comparison.before_steps},
                                         {"after", &comparison.after, &comparison.after_steps}}) {
    if (steps->empty()) continue;
    recording.tracks.push_back({fmt::format("{}: {}", run, *name), "steps", *steps});
    RecordedScalar scalar{"compare/step_ms", {}, run};
    for (const double seconds : step_seconds(*steps))
      scalar.points.emplace_back(static_cast<std::int64_t>(scalar.points.size()) + 1, 1e3 * seconds);
    recording.scalars.push_back(std::move(scalar));
  }
  const auto add = [&](const ComparedPart& part) {
    const std::string tag = "compare/" + part.name;
    recording.scalars.push_back({tag, {{0, part.before}}, "before"});
    recording.scalars.push_back({tag, {{0, part.after}}, "after"});
    if (!std::isfinite(part.ratio.ratio)) return;
    recording.scalars.push_back({tag + "_speed", {{0, part.ratio.ratio}}});
    if (part.ratio.high <= 0) return;
    recording.scalars.push_back({tag + "_speed_low", {{0, part.ratio.low}}});
    recording.scalars.push_back({tag + "_speed_high", {{0, part.ratio.high}}});
  };
  add(comparison.whole);
  for (const ComparedPart& part : comparison.parts) add(part);
  recording.text_tag = "compare/verdict";
  recording.text = comparison.verdict();
  return recording;
}

Report report_of(const RunComparison& comparison, const std::string& command) {
  const ComparedPart& whole = comparison.whole;
  Report report = report_of_now("unstarve compare", command);
  report.machine_title = kMachineOfPage;
  CurveSection section;
  section.title = fmt::format("{} and {}", comparison.before, comparison.after);
  // The page begins it with a capital letter, which the name of a file must not get.
  section.verdict = (comparison.slower || comparison.faster ? "the run " : "") + comparison.verdict();
  section.tiles = {{speed_text(whole.ratio), "times the speed of the run before"},
                   {fmt::format("{} → {}", format_rate(whole.before), format_rate(whole.after)), whole.unit}};
  if (!comparison.regressed.empty()) section.tiles.push_back({comparison.regressed, "regressed most"});
  for (const std::string& warning : comparison.warnings) section.notes.push_back("Warning: " + warning + ".");
  BarChart speeds;
  speeds.title = "Speed after / before";
  speeds.mark_name = "as fast as before";
  speeds.mark = 1;
  FiguresTable table{"All parts", {"part", "before", "after", "times the speed", "unit", "verdict"}, {}, false, true};
  const auto add = [&](const ComparedPart& part) {
    if (part.ratio.high > 0) {
      Bar bar = plain_bar(part.name, part.ratio.ratio, speed_text(part.ratio));
      bar.low = part.ratio.low;
      bar.high = part.ratio.high;
      speeds.bars.push_back(std::move(bar));
    }
    table.rows.push_back({part.name, format_rate(part.before), format_rate(part.after), speed_text(part.ratio),
                          part.unit, part.name == comparison.regressed ? "regressed most" : verdict_of_part(part)});
  };
  add(whole);
  for (const ComparedPart& part : comparison.parts) add(part);
  section.bars.push_back(std::move(speeds));
  if (!comparison.parts.empty()) section.bars.push_back(part_bars(comparison.parts));
  if (!comparison.before_steps.empty() && !comparison.after_steps.empty()) {
    CurveChart chart = steps_chart("Time per step of both runs, ms");
    add_curve(chart, "before", step_seconds(comparison.before_steps), 1, 1e3);
    add_curve(chart, "after", step_seconds(comparison.after_steps), 1, 1e3);
    section.charts.push_back(std::move(chart));
  }
  for (const auto& [run, steps, threads] : {std::tuple{"Before", &comparison.before_steps, &comparison.before_threads},
                                            {"After", &comparison.after_steps, &comparison.after_threads}}) {
    Timeline timeline = timeline_of_run(run, *steps, *threads);
    if (!timeline.spans.empty()) section.timelines.push_back(std::move(timeline));
  }
  section.tables.push_back(std::move(table));
  report.curves.push_back(std::move(section));
  return report;
}

}  // namespace unstarve
