// Text and JSON of compress.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unstarve/core/json.h"
#include "unstarve/infer/engines/engine_table.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/jobs/compress/compress.h"
#include "unstarve/jobs/compress/step_text.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

std::string step_line(const CompressStep& step, std::size_t width) {
  const StepFigures figures = figures_of(step);
  std::string line = fmt::format("  {:<{}} {:<9} {:>19} {:>8} {:>9} {:>8}", title_of(step), width, name_of(step.state),
                                 figures.speed, figures.p50_ms, figures.accuracy, figures.bytes);
  line.erase(line.find_last_not_of(' ') + 1);
  line += "\n";
  if (!step.reason.empty()) line += fmt::format("    {}\n", printable(step.reason));
  return line;
}

std::string column(const std::string& name, const std::string& before, const std::string& after) {
  return fmt::format("  {:<22} {:>14} {:>14}\n", name, before, after);
}

std::string figures_text(const CompressedFigures& a, const CompressedFigures& b) {
  std::string text = column("", "original", "result");
  text += column("file", format_bytes(a.size.bytes), format_bytes(b.size.bytes));
  text += column("file, zip", format_bytes(a.size.zip_bytes), format_bytes(b.size.zip_bytes));
  text += column("latency p50, ms", fmt::format("{:.3g}", a.p50_ms), fmt::format("{:.3g}", b.p50_ms));
  text += column("latency p99, ms", fmt::format("{:.3g}", a.p99_ms), fmt::format("{:.3g}", b.p99_ms));
  text += column("throughput, images/s", fmt::format("{:.4g}", a.throughput.samples_per_s),
                 fmt::format("{:.4g}", b.throughput.samples_per_s));
  text += column("streams/threads/batch", settings_text(a.throughput.settings), settings_text(b.throughput.settings));
  text += column("accuracy", percent(a.accuracy.share), percent(b.accuracy.share));
  text += column("engine", a.engine, b.engine);
  return text;
}

Json json_of(const ShareInterval& of) {
  return {{"share", of.share}, {"low", of.low}, {"high", of.high}, {"images", of.count}};
}
Json json_of(const RatioInterval& of) {
  return {{"ratio", of.ratio}, {"low", of.low}, {"high", of.high}, {"pairs", of.pairs}};
}
Json json_of(const Portability& of);
template <class T>
Json json_of(const std::optional<T>& of) {
  return of ? json_of(*of) : Json();
}

Json json_of(const Portability& of) {
  return {{"loss", of.failure.empty() ? json_of(of.loss) : Json()},
          {"seven_bits_loss", json_of(of.seven_bits)},
          {"seven_bits_model", of.seven_bits ? Json(kSevenBitsFile) : Json()},
          {"failure", of.failure.empty() ? Json() : Json(of.failure)}};
}

Json json_of(const CompressStep& step) {
  return {{"name", step.name},
          {"change", step.change},
          {"state", name_of(step.state)},
          {"reason", step.reason},
          {"bytes", step.size.bytes},
          {"zip_bytes", step.size.zip_bytes},
          {"accuracy", json_of(step.accuracy)},
          {"loss", json_of(step.loss)},
          {"speed", json_of(step.speed)},
          {"p50_ms", step.p50_ms > 0 ? Json(step.p50_ms) : Json()},
          {"precision", step.precision},
          {"kernels", step.kernels},
          {"int8_kernels", step.kernels.empty() ? Json() : Json(int8_kernels(step))}};
}

Json json_of(const CompressedFigures& of) {
  return {{"engine", of.engine},
          {"engine_version", of.engine_version},
          {"settings", json_of(of.settings)},
          {"p50_ms", of.p50_ms},
          {"p99_ms", of.p99_ms},
          {"throughput",
           {{"samples_per_s", of.throughput.samples_per_s},
            {"p50_ms", of.throughput.p50_ms},
            {"settings", json_of(of.throughput.settings)}}},
          {"accuracy", json_of(of.accuracy)},
          {"bytes", of.size.bytes},
          {"zip_bytes", of.size.zip_bytes}};
}

}  // namespace

std::string to_text(const CompressResult& r) {
  std::string text = fmt::format("model        {}, {} layers that int8 can compute\n", printable(r.model), r.layers);
  text += fmt::format("calibration  {} images of {}\n", r.calibration_images, printable(r.data));
  text +=
      fmt::format("accuracy     {} images of {}{}; allowed loss {}\n\n", r.before.accuracy.count, printable(r.val),
                  r.labelled ? "" : " without labels: the agreement with the original", percent(r.max_accuracy_loss));
  std::size_t width = 0;
  for (const CompressStep& step : r.steps) width = std::max(width, title_of(step).size());
  text += fmt::format("  {:<{}} {:<9} {:>19} {:>8} {:>9} {:>8}\n", "step", width, "state", "speed", "p50, ms",
                      "accuracy", "file");
  for (const CompressStep& step : r.steps) text += step_line(step, width);
  for (const auto& [kernel, layers] : step_of_result(r).kernels) text += fmt::format("  {:>5} x {}\n", layers, kernel);
  text += "\n" + figures_text(r.before, r.after);
  text += fmt::format("\nspeed        {:.2f} [{:.2f}, {:.2f}] of the original, {} pairs of interleaved runs\n",
                      r.speed.ratio, r.speed.low, r.speed.high, r.speed.pairs);
  if (r.reference.speed)
    text += fmt::format("             {:.2f} [{:.2f}, {:.2f}] of the original in libtorch, p50 {:.3g} ms\n",
                        r.reference.speed->ratio, r.reference.speed->low, r.reference.speed->high, r.reference.p50_ms);
  else
    text += fmt::format("             not compared with libtorch: {}\n", printable(r.reference.failure));
  text += fmt::format("loss         {} accuracy [{}, {}]\n", percent(r.loss.share), percent(r.loss.low),
                      percent(r.loss.high));
  if (r.loss.high > r.max_accuracy_loss)
    text += fmt::format("             {} images cannot exclude a loss above {}: pass more with --val\n", r.loss.count,
                        percent(r.max_accuracy_loss));
  std::string label = "without VNNI";
  for (const std::string& line : portability_lines(r)) {
    text += fmt::format("{:<12} {}\n", label, printable(line));
    label.clear();
  }
  text += fmt::format("written      {}, settings.json, ledger.json\n", printable((r.out / "model.onnx").string()));
  return text;
}

std::string to_json(const CompressResult& r) {
  Json steps = Json::array();
  for (const CompressStep& step : r.steps) steps.push_back(json_of(step));
  const Json json{{"model", r.model},
                  {"data", r.data},
                  {"val", r.val},
                  {"labelled", r.labelled},
                  {"calibration_images", r.calibration_images},
                  {"layers", r.layers},
                  {"max_accuracy_loss", r.max_accuracy_loss},
                  {"steps", steps},
                  {"before", json_of(r.before)},
                  {"after", json_of(r.after)},
                  {"speed", json_of(r.speed)},
                  {"loss", json_of(r.loss)},
                  {"reference",
                   {{"engine", kReferenceEngine},
                    {"speed", json_of(r.reference.speed)},
                    {"p50_ms", r.reference.speed ? Json(r.reference.p50_ms) : Json()},
                    {"failure", r.reference.speed ? Json() : Json(r.reference.failure)}}},
                  {"portability", json_of(r.portability)},
                  {"out", r.out.string()}};
  return json_text(json, 2);
}

}  // namespace unstarve
