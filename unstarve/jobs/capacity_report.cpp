// The report and the recording of capacity.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/jobs/capacity.h"
#include "unstarve/jobs/common/report_parts.h"
#include "unstarve/observe/format.h"
#include "unstarve/observe/report.h"

namespace unstarve {
namespace {

CurveChart utilisation_chart(const CapacityResult& r) {
  CurveChart chart = time_chart("Utilisation of the emulated accelerators", CurveUnit::kPercent);
  chart.x_title = "accelerators";
  Curve measured{"measured", CurveLook::kLine, {}}, required{"required", CurveLook::kDashed, {}};
  for (const auto& [number, utilisation] : r.search.utilisation)
    measured.points.push_back({static_cast<double>(number), utilisation, 0, 0});
  const double last = static_cast<double>(r.search.utilisation.rbegin()->first) + 1;
  for (const double x : {0.0, last}) required.points.push_back({x, r.demand.min_utilisation, 0, 0});
  chart.curves = {std::move(measured), std::move(required)};
  chart.x_to = last;
  chart.y_to = 1.05;
  return chart;
}

BarChart rates_chart(const CapacityResult& r) {
  BarChart chart;
  chart.title = "Samples per second";
  chart.unit = "samples/s";
  const auto add = [&](const std::string& name, double rate) {
    chart.bars.push_back(plain_bar(name, rate, format_rate(rate)));
  };
  if (r.figures.storage > 0) add("storage", r.figures.storage);
  add("loader", r.figures.loader);
  const double each = r.demand.samples_per_s();
  add("needed by 1 accelerator", each);
  if (r.search.fed > 1) add(fmt::format("needed by {} accelerators", r.search.fed), r.search.fed * each);
  if (r.search.fed > 0 && r.search.fed < r.most)
    add(fmt::format("needed by {}, too many", r.search.fed + 1), (r.search.fed + 1) * each);
  return chart;
}

double seconds_between(std::int64_t begin_ns, std::int64_t end_ns) {
  return 1e-9 * static_cast<double>(end_ns - begin_ns);
}

// The emulation of as many accelerators as are fed, at least one; null: none.
const EmulatedAccelerators* shown_emulation(const CapacityResult& r) {
  const auto found = std::ranges::find_if(r.emulations, [&](const EmulatedAccelerators& run) {
    return run.accelerators == std::max(1, r.search.fed) && !run.independent;
  });
  return found != r.emulations.end() && found->use.steps > 0 ? &*found : nullptr;
}

std::string name_of_emulation(const EmulatedAccelerators& run) {
  return fmt::format("{} accelerator{}{}", run.accelerators, run.accelerators == 1 ? "" : "s",
                     run.independent ? " that do not wait for each other" : "");
}

BarChart lost_by_accelerators(const EmulatedAccelerators& run) {
  BarChart chart;
  chart.title = fmt::format("Accelerator-seconds without computation, by cause: {}", name_of_emulation(run));
  chart.unit = "s";
  const double whole = run.use.computed_s + run.use.data_wait_s + run.use.job_wait_s;
  for (const auto& [cause, seconds] : {std::pair{"waiting for data", run.use.data_wait_s},
                                       {"waiting for the other accelerators", run.use.job_wait_s}}) {
    if (seconds > 0)
      chart.bars.push_back(
          plain_bar(cause, seconds, fmt::format("{:.2f} s, {}", seconds, format_percent(seconds / whole))));
  }
  return chart;
}

// Of all accelerators: means of consecutive steps.
CurveChart accelerator_steps_chart(const EmulatedAccelerators& run) {
  constexpr std::size_t kMostChartPoints = 300;
  std::vector<AcceleratorStep> steps = run.use.recorded;
  std::ranges::sort(steps, {}, &AcceleratorStep::end_ns);
  CurveChart chart = time_chart("Parts of a step over time, ms", CurveUnit::kNumber);
  chart.title += ": " + name_of_emulation(run);
  const std::size_t joined = (steps.size() + kMostChartPoints - 1) / kMostChartPoints;
  const auto add = [&](const char* name, auto from, auto to) {
    Curve curve;
    curve.name = name;
    for (std::size_t i = 0; i < steps.size(); i += joined) {
      const std::size_t end = std::min(i + joined, steps.size());
      double ms = 0;
      for (std::size_t k = i; k < end; ++k)
        ms += 1e3 * seconds_between(steps[k].*from, steps[k].*to) / static_cast<double>(end - i);
      curve.points.push_back({seconds_between(0, steps[end - 1].end_ns), ms, ms, ms});
    }
    chart.curves.push_back(std::move(curve));
  };
  add("waiting for data", &AcceleratorStep::begin_ns, &AcceleratorStep::ready_ns);
  add("compute", &AcceleratorStep::ready_ns, &AcceleratorStep::computed_ns);
  add("waiting for the other accelerators", &AcceleratorStep::computed_ns, &AcceleratorStep::end_ns);
  return chart;
}

// A track of each accelerator, up to kMostTracedAccelerators.
std::vector<RecordedTrack> tracks_of(const EmulatedAccelerators& run, const std::string& process) {
  constexpr int kMostTracedAccelerators = 16;
  std::vector<RecordedTrack> tracks;
  for (const AcceleratorStep& step : run.use.recorded) {
    if (step.accelerator >= kMostTracedAccelerators) continue;
    const std::string name = fmt::format("accelerator {}", step.accelerator + 1);
    if (tracks.empty() || tracks.back().name != name) tracks.push_back({process, name, {}});
    const auto add = [&](const char* part, std::int64_t begin_ns, std::int64_t end_ns) {
      if (end_ns > begin_ns)
        tracks.back().spans.push_back({part, seconds_between(0, begin_ns), seconds_between(begin_ns, end_ns)});
    };
    add("wait for data", step.begin_ns, step.ready_ns);
    add("compute", step.ready_ns, step.computed_ns);
    add("wait for the other accelerators", step.computed_ns, step.end_ns);
  }
  return tracks;
}

void add_emulation(CurveSection& section, const EmulatedAccelerators& run) {
  if (Timeline timeline = timeline_of_steps("Timeline of a few steps: " + name_of_emulation(run), tracks_of(run, ""),
                                            {"compute", "wait for data", "wait for the other accelerators"});
      !timeline.spans.empty())
    section.timelines.push_back(std::move(timeline));
  section.bars.push_back(lost_by_accelerators(run));
  std::vector<double> idle;
  for (const AcceleratorStep& step : run.use.recorded)
    idle.push_back(seconds_between(step.begin_ns, step.end_ns) - seconds_between(step.ready_ns, step.computed_ns));
  section.bars.push_back(step_histogram(idle, "Idle time of an accelerator per step: number of steps"));
  std::erase_if(section.bars, [](const BarChart& chart) { return chart.bars.empty(); });
  if (run.use.recorded.size() >= 2) section.charts.push_back(accelerator_steps_chart(run));
}

}  // namespace

Recording recording_of(const CapacityResult& r, const std::string& command) {
  Recording recording;
  recording.command = command;
  if (!r.spans.empty()) recording.tracks.push_back({"capacity", "measurements", r.spans});
  const auto scalar = [&](const char* tag, std::int64_t step, double value) {
    recording.scalars.push_back({tag, {{step, value}}});
  };
  int number = 0;
  for (const EmulatedAccelerators& run : r.emulations) {
    const std::string process = fmt::format("emulation {}: {}", ++number, name_of_emulation(run));
    for (RecordedTrack& track : tracks_of(run, process)) recording.tracks.push_back(std::move(track));
    if (run.independent) continue;
    scalar("capacity/utilisation", run.accelerators, run.use.utilisation);
    scalar("capacity/lowest_utilisation", run.accelerators, run.use.lowest);
    scalar("capacity/samples_per_s", run.accelerators, run.use.samples_per_s);
  }
  std::ranges::stable_sort(recording.scalars, {}, [](const RecordedScalar& each) { return each.points[0].first; });
  scalar("capacity/fed", 0, r.search.fed);
  scalar("capacity/loader_samples_per_s", 0, r.figures.loader);
  scalar("capacity/storage_samples_per_s", 0, r.storage);
  recording.text_tag = "capacity/verdict";
  recording.text = fmt::format("This host feeds {}; limit: {}.", r.search.fed, r.verdict.sentence);
  return recording;
}

Report report_of(const CapacityResult& r, const std::string& command) {
  Report report = report_of_now("unstarve capacity", command);
  CurveSection section;
  section.title = fmt::format("{} for {}", r.data, r.accelerator);
  const bool more = r.search.fed == r.most;
  section.verdict = fmt::format("this host feeds {}{} accelerator{}; limit: {}", more ? "at least " : "", r.search.fed,
                                r.search.fed == 1 ? "" : "s", r.verdict.sentence);
  section.tiles = {{std::to_string(r.search.fed),
                    more ? "accelerators at least; more were not emulated" : "accelerators can be fed"},
                   {format_rate(r.figures.loader), "samples per second of the loader alone"},
                   {fmt::format("{:.1f} of {}", r.figures.loader_cores, r.figures.usable_cores),
                    "usable cores are busy with the loader alone"}};
  section.notes.push_back(
      fmt::format("{}: {} {} per step of {:.4g} ms, utilisation of at least {}. Data: {}, {} samples.", r.accelerator,
                  r.demand.batch, r.demand.batch == 1 ? "sample" : "samples", 1e3 * r.demand.step_s,
                  format_percent(r.demand.min_utilisation), r.format, r.samples));
  if (r.utilisation_independent > 0) {
    section.notes.push_back(fmt::format("Accelerators that do not wait for each other reach a utilisation of {}.",
                                        format_percent(r.utilisation_independent)));
  }
  if (const std::string note = sample_size_note(r); !note.empty()) section.notes.push_back(note + ".");
  if (r.cached) {
    section.notes.emplace_back(
        "The data is in the page cache or generated, so no disk was measured. To measure it, use data larger than the "
        "memory.");
  }
  if (!r.cores_needed.empty()) section.notes.push_back("Cores for one accelerator more: " + r.cores_needed + ".");
  if (!r.search.utilisation.empty()) section.charts.push_back(utilisation_chart(r));
  section.bars.push_back(rates_chart(r));
  if (const EmulatedAccelerators* const run = shown_emulation(r)) add_emulation(section, *run);
  if (!r.what_if.empty()) {
    FiguresTable table{"What if: predicted by " + model_text(r.figures),
                       {"change", "samples/s", "accelerators", "arithmetic"},
                       {},
                       false,
                       true};
    for (const WhatIf& entry : r.what_if) {
      table.rows.push_back(
          {entry.change, format_rate(entry.samples_per_s), std::to_string(entry.fed), entry.arithmetic});
    }
    section.tables.push_back(std::move(table));
  }
  FiguresTable table{"Emulated accelerators",
                     {"accelerators", "utilisation", "lowest", "samples/s", "wait for data, s", "verdict"},
                     {},
                     false,
                     true};
  std::vector<const EmulatedAccelerators*> together;
  for (const EmulatedAccelerators& run : r.emulations)
    if (!run.independent) together.push_back(&run);
  std::ranges::stable_sort(together, {}, &EmulatedAccelerators::accelerators);
  for (const EmulatedAccelerators* const run : together) {
    table.rows.push_back({std::to_string(run->accelerators), format_percent(run->use.utilisation),
                          format_percent(run->use.lowest), format_rate(run->use.samples_per_s),
                          fmt::format("{:.2f}", run->use.data_wait_s),
                          run->use.utilisation >= r.demand.min_utilisation ? "sufficient" : "too low"});
  }
  section.tables.push_back(std::move(table));
  report.curves.push_back(std::move(section));
  return report;
}

}  // namespace unstarve
