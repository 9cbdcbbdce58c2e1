// The report and the recording of bench.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

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
  const bool positive = std::ranges::all_of(part.rounds, [](double rate) { return rate > 0; });
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

double seconds_of(std::int64_t ns) { return 1e-9 * static_cast<double>(ns); }

// Durations of a part of each joint step.
template <class Part>
std::vector<double> of_steps(const BenchResult& r, const Part& part_ns) {
  std::vector<double> seconds;
  for (const StepParts& step : r.steps) seconds.push_back(seconds_of(part_ns(step)));
  return seconds;
}
std::int64_t idle_ns(const StepParts& step) { return step.wait_ns + step.copy_ns; }
// The time by which an emulated accelerator was late, since its thread had no core: no work, as for the utilisation.
std::int64_t late_ns(const BenchResult& r, const StepParts& step) {
  return r.nominal_step_ns > 0 ? std::max<std::int64_t>(step.compute_ns - r.nominal_step_ns, 0) : 0;
}

// The time in which the network, or the accelerator, does not compute.
struct BenchLoss {
  const char* cause;
  const char* change;     // "": depends on the figures
  double seconds, share;  // of the joint runs
};
std::vector<BenchLoss> losses_of(const BenchResult& r) {
  double wait = 0, copy = 0, late = 0, whole = 0;
  for (const StepParts& step : r.steps) {
    wait += seconds_of(step.wait_ns);
    copy += seconds_of(step.copy_ns);
    late += seconds_of(late_ns(r, step));
    whole += seconds_of(step.total_ns());
  }
  if (whole <= 0) return {};
  std::vector<BenchLoss> losses{
      {"waiting for data", "", wait, wait / whole},
      {r.target.cuda() ? "copy and launch" : "copy",
       "send uint8 pixels from pinned memory: output.type: uint8, execution.pinned: true", copy, copy / whole},
      {"no core for the emulation", "leave a core to the consumer: fewer execution.threads", late, late / whole}};
  std::ranges::stable_sort(losses, std::ranges::greater(), &BenchLoss::seconds);
  return losses;
}

// Causes of lost time that take at least this share.
constexpr double kLeastLoss = 0.02;

std::vector<ReportFinding> findings_of(const BenchResult& r) {
  const BenchFigures& f = r.figures;
  std::vector<ReportFinding> findings;
  for (const BenchLoss& loss : losses_of(r)) {
    if (loss.share < kLeastLoss) continue;
    ReportFinding finding;
    finding.title = fmt::format("{}: {} of the time", loss.cause, format_percent(loss.share));
    finding.evidence = fmt::format(
        "{:.2f} of {:.2f} s of the {} steps of all rounds; samples per second alone: storage {} (one thread), loader "
        "{}, "
        "copy {}, {} {}",
        loss.seconds, loss.seconds / loss.share, r.steps.size(), format_rate(f.storage), format_rate(f.loader),
        format_rate(f.copy), parts_of_bench(r)[3].name, format_rate(f.network));
    finding.change = !other_users(f).empty() ? "measure again when no other program uses the cores"
                     : *loss.change != 0     ? loss.change
                     : r.verdict.bottleneck == Bottleneck::kStorage
                         ? "increase execution.read_ahead, pack the files (unstarve pack), or cache them (cache.what)"
                         : "try all optimisations of the loader on this data: unstarve tune";
    finding.gain = fmt::format("at most {:.2f} times the rate", 1 / std::max(1 - loss.share, 0.01));
    findings.push_back(std::move(finding));
  }
  return findings;
}

// Means of consecutive steps. The time between the rounds is left out, as in the chart of the utilisation.
CurveChart parts_over_time(const BenchResult& r) {
  constexpr std::size_t kMostChartPoints = 300;
  CurveChart chart = time_chart("Parts of a step over time, all together, ms", CurveUnit::kNumber);
  const std::size_t joined = (r.steps.size() + kMostChartPoints - 1) / kMostChartPoints;
  const auto add = [&](const char* name, const auto& part_ns) {
    Curve curve;
    curve.name = name;
    double at = 0;
    for (std::size_t i = 0; i < r.steps.size(); i += joined) {
      const std::size_t end = std::min(i + joined, r.steps.size());
      double ms = 0;
      for (std::size_t k = i; k < end; ++k) {
        ms += 1e3 * seconds_of(part_ns(r.steps[k])) / static_cast<double>(end - i);
        at += seconds_of(r.steps[k].total_ns());
      }
      curve.points.push_back({at, ms, ms, ms});
    }
    chart.curves.push_back(std::move(curve));
  };
  add("waiting for data", [](const StepParts& step) { return step.wait_ns; });
  add("copy", [](const StepParts& step) { return step.copy_ns; });
  add("compute", [](const StepParts& step) { return step.compute_ns; });
  return chart;
}

CurveChart stages_over_time(const RecordedCounter& stages) {
  CurveChart chart = time_chart("Busy worker threads by stage, all together", CurveUnit::kNumber);
  for (std::size_t part = 0; part < stages.parts.size(); ++part) {
    Curve curve;
    curve.name = stages.parts[part];
    double at = 0;
    for (std::size_t i = 0; i + 1 < stages.points.size(); ++i) {
      const std::vector<double>& values = stages.points[i].values;
      if (std::ranges::all_of(values, [](double value) { return value == 0; })) continue;  // the end of a round
      at += stages.points[i + 1].seconds - stages.points[i].seconds;
      curve.points.push_back({at, values[part], 0, 0});
    }
    chart.curves.push_back(std::move(curve));
  }
  return chart;
}

// A track of steps with their parts inside. Steps of a GPU, whose times are of the device, may begin before the last
// one has ended: they are cut.
RecordedTrack steps_track(const BenchResult& r) {
  constexpr std::size_t kMostTracedSteps = 20000;
  RecordedTrack track{"bench", "steps, all together", {}};
  for (std::size_t i = r.steps.size() - std::min(r.steps.size(), kMostTracedSteps); i < r.steps.size(); ++i) {
    const StepParts& step = r.steps[i];
    std::int64_t end = step.begin_ns + step.total_ns();
    if (i + 1 < r.steps.size()) end = std::min(end, r.steps[i + 1].begin_ns);
    const auto add = [&](const std::string& name, std::int64_t begin_ns, std::int64_t ns) {
      begin_ns = std::min(begin_ns, end);
      ns = std::min(ns, end - begin_ns);
      if (ns > 0) track.spans.push_back({name, seconds_of(begin_ns), seconds_of(ns)});
    };
    add(fmt::format("step {}", i + 1), step.begin_ns, step.total_ns());
    add("wait for data", step.begin_ns, step.wait_ns);
    add("copy", step.begin_ns + step.wait_ns, step.copy_ns);
    std::int64_t at = step.begin_ns + idle_ns(step);
    add("compute", at, step.compute_ns);
    for (const auto& [name, ms] : {std::pair{"forward", step.network.forward_ms},
                                   {"backward", step.network.backward_ms},
                                   {"optimiser", step.network.optimiser_ms}}) {
      const auto ns = static_cast<std::int64_t>(1e6 * ms);
      add(name, at, ns);
      at += ns;
    }
  }
  return track;
}

std::vector<BarChart> bars_of_bench(const BenchResult& r) {
  std::vector<BarChart> charts(1);
  charts[0].title = "Samples per second: each part alone, and all together";
  charts[0].unit = "samples/s";
  // A page cache is up to thousands of times as fast as a network: the slow parts, which matter, stay visible.
  constexpr double kLongestBar = 10;
  double slowest = std::numeric_limits<double>::infinity();
  for (const BenchPart& part : parts_of_bench(r)) {
    charts[0].bars.push_back(rate_bar(part));
    if (part.rate > 0) slowest = std::min(slowest, part.rate);
  }
  if (std::isfinite(slowest)) charts[0].end = kLongestBar * slowest;
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
  BarChart lost;
  lost.title = fmt::format("Seconds in which the {} does not compute, by cause", parts_of_bench(r)[3].name);
  lost.unit = "s";
  for (const BenchLoss& loss : losses_of(r)) {
    if (loss.share >= 0.001)
      lost.bars.push_back(
          plain_bar(loss.cause, loss.seconds, fmt::format("{:.2f} s, {}", loss.seconds, format_percent(loss.share))));
  }
  charts.push_back(std::move(lost));
  charts.push_back(step_histogram(of_steps(r, [&](const StepParts& each) { return idle_ns(each) + late_ns(r, each); }),
                                  "Idle time per step, all together: number of steps"));
  std::erase_if(charts, [](const BarChart& chart) { return chart.bars.empty(); });
  return charts;
}

}  // namespace

Recording recording_of(const BenchResult& r, const std::string& command) {
  Recording recording;
  recording.command = command;
  recording.tracks = {{"bench", "measurements", r.spans}, steps_track(r)};
  std::erase_if(recording.tracks, [](const RecordedTrack& track) { return track.spans.empty(); });
  if (!r.stages.points.empty()) recording.counters.push_back(r.stages);
  const auto add = [&](const std::string& tag, const auto& values, double factor) {
    RecordedScalar& scalar = recording.scalars.emplace_back(RecordedScalar{"bench/" + tag, {}});
    std::int64_t step = 0;
    for (const double value : values) scalar.points.emplace_back(++step, factor * value);
  };
  for (const BenchPart& part : parts_of_bench(r)) add(std::string(part.name) + "_samples_per_s", part.rounds, 1);
  add("step_ms", of_steps(r, [](const StepParts& step) { return step.total_ns(); }), 1e3);
  add("wait_ms", of_steps(r, [](const StepParts& step) { return step.wait_ns; }), 1e3);
  add("copy_ms", of_steps(r, [](const StepParts& step) { return step.copy_ns; }), 1e3);
  add("compute_ms", of_steps(r, [](const StepParts& step) { return step.compute_ns; }), 1e3);
  for (const auto& [name, value] : {std::pair{"utilisation", r.figures.utilisation},
                                    {"data_wait", r.figures.data_wait},
                                    {"overlap", r.verdict.overlap}})
    add(name, std::vector{value}, 1);
  for (const StageProfile& stage : r.figures.stages) {
    if (stage.name != "wait" && stage.samples > 0)
      add("stage_us/" + stage.name, std::vector{seconds_of(stage.busy_ns) / static_cast<double>(stage.samples)}, 1e6);
  }
  recording.text_tag = "bench/verdict";
  recording.text = r.verdict.sentence;
  return recording;
}

Report report_of(const BenchResult& r, const std::string& command) {
  const BenchFigures& f = r.figures;
  Report report = report_of_now("unstarve bench", command);
  CurveSection section;
  section.title = fmt::format("{} on {}", r.data, r.target.name);
  section.verdict = r.verdict.sentence;
  const std::string of_rounds = r.rounds > 1 ? fmt::format(", median of {} rounds", r.rounds) : "";
  section.tiles = {{format_rate(f.together), "samples per second, all together" + of_rounds},
                   {format_percent(f.utilisation), "utilisation of the " + std::string(parts_of_bench(r)[3].name)},
                   {format_percent(f.data_wait), "of the time is spent waiting for data" + of_rounds}};
  if (r.verdict.overlap > 0 && !contradicts(f))
    section.tiles.push_back({format_percent(r.verdict.overlap), "of the slowest part's rate is reached together"});
  if (r.profile.utilisation.size() >= 2) {
    std::vector<double> shares;
    for (const UtilisationPoint& point : r.profile.utilisation) shares.push_back(point.utilisation);
    section.tiles[1].label += fmt::format(" ({} to {} in 80 % of the intervals)", format_percent(quantile(shares, 0.1)),
                                          format_percent(quantile(shares, 0.9)));
  }
  section.findings = findings_of(r);
  section.notes = {fmt::format("{} round{} in {}; {:.1f} of {} usable cores were busy with the loader alone.", r.rounds,
                               r.rounds == 1 ? "" : "s", format_duration(r.seconds), f.loader_cores, f.usable_cores)};
  if (f.other_cores >= 0.05)
    section.notes.push_back(fmt::format("Other programs used {:.2f} cores meanwhile.", f.other_cores));
  section.bars = bars_of_bench(r);
  if (r.steps.size() >= 2) section.charts.push_back(parts_over_time(r));
  if (r.profile.utilisation.size() >= 2) {
    CurveChart chart = time_chart("Utilisation over time, all together", CurveUnit::kPercent);
    Curve curve;
    curve.name = "compute time / wall time";
    for (const UtilisationPoint& point : r.profile.utilisation)
      curve.points.push_back({point.seconds, point.utilisation, 0, 0});
    chart.curves.push_back(std::move(curve));
    section.charts.push_back(std::move(chart));
  }
  if (Timeline timeline = timeline_of_steps("Timeline of a few steps, all together", std::array{steps_track(r)},
                                            {"wait for data", "copy", "compute"});
      !timeline.spans.empty())
    section.timelines.push_back(std::move(timeline));
  if (r.stages.points.size() >= 2) section.charts.push_back(stages_over_time(r.stages));
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
