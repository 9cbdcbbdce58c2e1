// The report of capacity.

#include <fmt/format.h>

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

}  // namespace

Report report_of(const CapacityResult& r, const std::string& command) {
  Report report = report_of_now("unstarve capacity", command);
  CurveSection section;
  section.title = fmt::format("{} for {}", r.data, r.accelerator);
  const bool more = r.search.fed == r.most;
  section.verdict = fmt::format("this host feeds {}{} accelerator{}; the limit is {}", more ? "at least " : "",
                                r.search.fed, r.search.fed == 1 ? "" : "s", r.verdict.sentence);
  section.tiles = {{std::to_string(r.search.fed),
                    more ? "accelerators at least; more were not emulated" : "accelerators can be fed"},
                   {format_rate(r.figures.loader), "samples per second of the loader alone"},
                   {fmt::format("{:.1f} of {}", r.figures.loader_cores, r.figures.usable_cores),
                    "usable cores are busy with the loader alone"}};
  section.notes.push_back(fmt::format(
      "{}: {} samples per step of {:.4g} ms, utilisation of at least {}. {}: {} samples.", r.accelerator,
      r.demand.batch, 1e3 * r.demand.step_s, format_percent(r.demand.min_utilisation), r.format, r.samples));
  if (r.utilisation_apart > 0) {
    section.notes.push_back(fmt::format("Accelerators that do not wait for each other reach a utilisation of {}.",
                                        format_percent(r.utilisation_apart)));
  }
  if (const std::string note = sample_size_note(r); !note.empty()) section.notes.push_back(note + ".");
  if (r.cached) {
    section.notes.emplace_back(
        "The data are in the page cache or generated, so no disk was measured. To measure it, use data larger than the "
        "memory.");
  }
  if (!r.cores_needed.empty()) section.notes.push_back(r.cores_needed);
  if (!r.search.utilisation.empty()) section.charts.push_back(utilisation_chart(r));
  section.bars.push_back(rates_chart(r));
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
  FiguresTable table{"Emulated accelerators", {"accelerators", "utilisation", "verdict"}, {}, false, true};
  for (const auto& [number, utilisation] : r.search.utilisation) {
    table.rows.push_back({std::to_string(number), format_percent(utilisation),
                          utilisation >= r.demand.min_utilisation ? "sufficient" : "too low"});
  }
  section.tables.push_back(std::move(table));
  report.curves.push_back(std::move(section));
  return report;
}

}  // namespace unstarve
