// The report of compress: tiles, latency and size by step, the ledger, original and result side by side.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "unstarve/jobs/common/report_parts.h"
#include "unstarve/jobs/compress/compress.h"
#include "unstarve/jobs/compress/step_text.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

BarChart latencies(const CompressResult& r) {
  BarChart chart;
  chart.title = "Median latency of a batch of 1, by step";
  chart.unit = "ms";
  for (const CompressStep& step : r.steps)
    if (step.p50_ms > 0)
      chart.bars.push_back(
          plain_bar(title_of(step), step.p50_ms, fmt::format("{:.3g} ms, {}", step.p50_ms, name_of(step.state))));
  chart.mark_name = "original";
  chart.mark = r.steps.front().p50_ms;
  return chart;
}

BarChart sizes(const CompressResult& r) {
  BarChart chart;
  chart.title = "Size of the file";
  chart.unit = "MB";
  const auto add = [&](const char* name, std::uint64_t bytes) {
    chart.bars.push_back(plain_bar(name, static_cast<double>(bytes) / 1e6, format_bytes(bytes)));
  };
  add("original", r.before.size.bytes);
  add("original, zip", r.before.size.zip_bytes);
  add("result", r.after.size.bytes);
  add("result, zip", r.after.size.zip_bytes);
  return chart;
}

FiguresTable ledger_table(const CompressResult& r) {
  FiguresTable table{"Steps: each compared with the model before it",
                     {"step", "speed", "p50, ms", "accuracy", "file", "state"},
                     {},
                     false,
                     true};
  for (const CompressStep& step : r.steps) {
    const StepFigures figures = figures_of(step);
    table.rows.push_back({title_of(step), figures.speed, figures.p50_ms, figures.accuracy, figures.bytes,
                          fmt::format("{}{}", name_of(step.state), step.reason.empty() ? "" : ": " + step.reason)});
  }
  return table;
}

FiguresTable figures_table(const CompressResult& r) {
  FiguresTable table{"Original and result", {"figure", "original", "result", "meaning"}, {}, false, true};
  const auto add = [&](const char* name, const std::string& before, const std::string& after, const char* meaning) {
    table.rows.push_back({name, before, after, meaning});
  };
  const auto figure = [](double value) { return fmt::format("{:.3g}", value); };
  add("file", format_bytes(r.before.size.bytes), format_bytes(r.after.size.bytes), "ONNX");
  add("file, zip", format_bytes(r.before.size.zip_bytes), format_bytes(r.after.size.zip_bytes), "deflate, level 9");
  add("latency p50, ms", figure(r.before.p50_ms), figure(r.after.p50_ms), "batch of 1, interleaved runs");
  add("latency p99, ms", figure(r.before.p99_ms), figure(r.after.p99_ms), "batch of 1, interleaved runs");
  add("throughput, images/s", format_rate(r.before.throughput.samples_per_s),
      format_rate(r.after.throughput.samples_per_s), "fastest streams and batch");
  add("streams/threads/batch", settings_text(r.before.throughput.settings), settings_text(r.after.throughput.settings),
      "of the throughput");
  add("engine", fmt::format("{} {}", r.before.engine, r.before.engine_version),
      fmt::format("{} {}", r.after.engine, r.after.engine_version), "");
  add("accuracy", percent(r.before.accuracy.share), percent(r.after.accuracy.share),
      r.labelled ? "share of the images" : "agreement with the original");
  return table;
}

// By which kernels the result is computed; empty: not reported.
std::string kernels_sentence(const CompressResult& r) {
  const CompressStep& step = step_of_result(r);
  std::string kernels;
  for (const auto& [kernel, layers] : step.kernels)
    kernels += fmt::format("{}{} x {}", kernels.empty() ? "" : ", ", layers, kernel);
  if (kernels.empty()) return {};
  return fmt::format("{} of {} layers are computed in int8: {}.", int8_kernels(step), r.layers, kernels);
}

}  // namespace

Report report_of(const CompressResult& r, const std::string& command) {
  Report report = report_of_now("unstarve compress", command);
  CurveSection section;
  section.title = r.model;
  section.verdict = fmt::format(
      "{:.2f} times as fast as the original [{:.2f}, {:.2f}], {} instead of {}, the accuracy falls by {} [{}, {}].",
      r.speed.ratio, r.speed.low, r.speed.high, format_bytes(r.after.size.bytes), format_bytes(r.before.size.bytes),
      percent(r.loss.share), percent(r.loss.low), percent(r.loss.high));
  section.tiles = {{fmt::format("{:.2f}", r.speed.ratio), "times the speed of the original, batch of 1"},
                   {fmt::format("{:.2f}", static_cast<double>(r.before.size.bytes) /
                                              static_cast<double>(std::max<std::uint64_t>(r.after.size.bytes, 1))),
                    "times smaller"},
                   {percent(r.after.accuracy.share), r.labelled ? "accuracy" : "agreement with the original"}};
  section.bars = {latencies(r), sizes(r)};
  section.tables = {ledger_table(r), figures_table(r)};
  section.notes.push_back(fmt::format(
      "{} images are used for calibration and {} others for the accuracy check; the accuracy may fall by at most {}.",
      r.calibration_images, r.before.accuracy.count, percent(r.max_accuracy_loss)));
  section.notes.push_back(
      r.reference.speed
          ? fmt::format("{:.2f} times as fast as the original in libtorch [{:.2f}, {:.2f}], which takes {:.3g} ms.",
                        r.reference.speed->ratio, r.reference.speed->low, r.reference.speed->high, r.reference.p50_ms)
          : "Not compared with libtorch: " + r.reference.failure);
  if (std::string kernels = kernels_sentence(r); !kernels.empty()) section.notes.push_back(std::move(kernels));
  for (const std::string& line : portability_lines(r))
    section.notes.push_back("On x86 CPUs without VNNI: " + line + ".");
  report.curves.push_back(std::move(section));
  return report;
}

}  // namespace unstarve
