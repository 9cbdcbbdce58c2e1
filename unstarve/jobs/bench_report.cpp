// The report of bench.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "unstarve/core/statistics.h"
#include "unstarve/jobs/bench.h"
#include "unstarve/jobs/common/report_parts.h"
#include "unstarve/observe/format.h"
#include "unstarve/observe/report.h"

namespace unstarve {
namespace {

struct BenchPart {
  const char* name;
  const char* what;
  double rate;
  const std::vector<double>& rounds;
};

std::vector<BenchPart> parts_of_bench(const BenchResult& r) {
  const BenchFigures& f = r.figures;
  return {{"storage", "reads records, one thread", f.storage, r.rates.storage},
          {"loader", "read to batch", f.loader, r.rates.loader},
          {"copy", "copies batches", f.copy, r.rates.copy},
          {r.target.emulated() ? "accelerator" : "network", "one resident batch", f.network, r.rates.network},
          {"together", "all of them", f.together, r.rates.together}};
}

// The rate with Student's interval over the logarithms of the rounds, around their median.
Bar rate_bar(const BenchPart& part) {
  Bar bar = plain_bar(part.name, part.rate, format_rate(part.rate));
  const bool positive = std::all_of(part.rounds.begin(), part.rounds.end(), [](double rate) { return rate > 0; });
  if (part.rounds.size() < 2 || !positive) return bar;
  const auto count = static_cast<double>(part.rounds.size());
  double mean = 0, squares = 0;
  for (const double rate : part.rounds) mean += std::log(rate) / count;
  for (const double rate : part.rounds) squares += (std::log(rate) - mean) * (std::log(rate) - mean);
  const double half =
      student_t_975(static_cast<int>(part.rounds.size()) - 1) * std::sqrt(squares / (count - 1) / count);
  bar.low = part.rate * std::exp(-half);
  bar.high = part.rate * std::exp(half);
  bar.figure += fmt::format(" [{}, {}]", format_rate(bar.low), format_rate(bar.high));
  return bar;
}

std::vector<BarChart> bars_of_bench(const BenchResult& r) {
  std::vector<BarChart> charts(1);
  charts[0].title = "Samples per second: each part alone, and all together";
  charts[0].unit = "samples/s";
  for (const BenchPart& part : parts_of_bench(r)) charts[0].bars.push_back(rate_bar(part));
  const auto add = [&](const char* title, const char* name, const char* unit, std::vector<BarPart> parts) {
    double sum = 0;
    for (const BarPart& part : parts) sum += part.value;
    if (sum <= 0) return;
    charts.push_back({title, unit, {{name, fmt::format("{} {}", format_rate(sum), unit), std::move(parts)}}, "", 0});
  };
  std::vector<BarPart> step, stages;
  for (const StepPart& part : r.profile.step) step.push_back({part.name, part.mean_ms});
  for (const StageProfile& stage : r.figures.stages) {
    if (stage.name != "wait" && stage.samples > 0)
      stages.push_back({stage.name, 1e-3 * static_cast<double>(stage.busy_ns) / static_cast<double>(stage.samples)});
  }
  add("Time per step, all together: mean", "step", "ms", std::move(step));
  add("Thread time per sample of the loader alone, by stage", "sample", "µs", std::move(stages));
  return charts;
}

}  // namespace

Report report_of(const BenchResult& r, const std::string& command) {
  const BenchFigures& f = r.figures;
  Report report = report_of_now("unstarve bench", command);
  CurveSection section;
  section.title = fmt::format("{} on {}", r.data, r.target.name);
  section.verdict = r.verdict.sentence;
  section.tiles = {{format_rate(f.together), "samples per second, all together"},
                   {format_percent(f.utilisation), "utilisation of the " + std::string(parts_of_bench(r)[3].name)},
                   {format_percent(f.data_wait), "of the time is spent waiting for data"}};
  if (r.verdict.overlap > 0)
    section.tiles.push_back({format_percent(r.verdict.overlap), "of the slowest part's rate is reached together"});
  section.notes = {fmt::format("{} round{} in {}; {:.1f} of {} usable cores were busy with the loader alone.", r.rounds,
                               r.rounds == 1 ? "" : "s", format_duration(r.seconds), f.loader_cores, f.usable_cores)};
  if (f.other_cores >= 0.05)
    section.notes.push_back(fmt::format("Other programs used {:.2f} cores meanwhile.", f.other_cores));
  section.bars = bars_of_bench(r);
  if (r.profile.utilisation.size() >= 2) {
    CurveChart chart = time_chart("Utilisation over time, all together", CurveUnit::kPercent);
    Curve curve;
    curve.name = "compute time / wall time";
    for (const UtilisationPoint& point : r.profile.utilisation)
      curve.points.push_back({point.seconds, point.utilisation, 0, 0});
    chart.curves.push_back(std::move(curve));
    section.charts.push_back(std::move(chart));
  }
  FiguresTable table{"Samples per second of each round", {"part"}, {}, false, true};
  for (int round = 1; round <= r.rounds; ++round) table.columns.push_back(fmt::format("round {}", round));
  table.columns.emplace_back("what it does");
  for (const BenchPart& part : parts_of_bench(r)) {
    std::vector<std::string> row{part.name};
    for (const double rate : part.rounds) row.push_back(format_rate(rate));
    row.resize(table.columns.size() - 1);
    row.emplace_back(part.what);
    table.rows.push_back(std::move(row));
  }
  section.tables.push_back(std::move(table));
  report.curves.push_back(std::move(section));
  return report;
}

}  // namespace unstarve
