// The report of compare.

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

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

}  // namespace

Report report_of(const RunComparison& comparison, const std::string& command) {
  const ComparedPart& whole = comparison.whole;
  Report report = report_of_now("unstarve compare", command);
  CurveSection section;
  section.title = fmt::format("{} and {}", comparison.before, comparison.after);
  section.verdict = comparison.verdict();
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
  if (!comparison.before_steps.empty()) {
    CurveChart chart = steps_chart("Time per step of both runs, ms");
    add_curve(chart, "before", comparison.before_steps, 1, 1e3);
    add_curve(chart, "after", comparison.after_steps, 1, 1e3);
    section.charts.push_back(std::move(chart));
  }
  section.tables.push_back(std::move(table));
  report.curves.push_back(std::move(section));
  return report;
}

}  // namespace unstarve
