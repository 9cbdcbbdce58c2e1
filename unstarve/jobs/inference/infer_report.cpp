// Text and JSON of infer.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unstarve/core/json.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/jobs/inference/infer.h"

namespace unstarve {
namespace {

double share_of(std::uint64_t part, std::uint64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

double time_share(double part_s, const InferResult& result) { return result.seconds > 0 ? part_s / result.seconds : 0; }

}  // namespace

std::string to_text(const InferResult& r) {
  const EngineSettings& settings = r.engine_rate.settings;
  std::string text =
      fmt::format("model     {}, {} classes, images of {} px, mean {:.4g}, std {:.4g}\n", r.model, r.classes,
                  r.image_size, fmt::join(r.normalisation.mean, " "), fmt::join(r.normalisation.std, " "));
  text += fmt::format("engine    {} {}{}, {} stream{} with {} thread{}, batch {}: {:.1f} images/s alone\n", r.engine,
                      r.engine_version, r.compiled.precision.empty() ? "" : ", " + r.compiled.precision,
                      settings.streams, settings.streams == 1 ? "" : "s", settings.threads,
                      settings.threads == 1 ? "" : "s", settings.batch, r.engine_rate.samples_per_s);
  if (!r.settings_file.empty())
    text += fmt::format("settings  {} of {}\n", fmt::join(r.from_settings, ", "), r.settings_file.string());
  for (const auto& [kernel, layers] : r.compiled.kernels) text += fmt::format("kernel    {} x {}\n", layers, kernel);
  for (const LeftOutEngine& each : r.left_out) text += fmt::format("left out  {}\n", each.reason);
  text += fmt::format("samples   {} of {}{}{}\n", r.samples, r.data,
                      r.resumed > 0 ? fmt::format(", {} of them by earlier runs", r.resumed) : "",
                      r.bad > 0 ? fmt::format(", {} bad ones", r.bad) : "");
  if (r.samples > r.resumed)
    text += fmt::format(
        "rate      {:.1f} images/s in {:.1f} s; bottleneck: {} ({:.0f} % of the time spent waiting "
        "for it)\n",
        r.samples_per_s(), r.seconds, r.engine_limits() ? "engine" : "loader",
        100 * time_share(std::max(r.engine_wait_s, r.loader_wait_s), r));
  if (r.labelled > 0) {
    text += fmt::format("accuracy  {:.2f} % of {} labels", 100 * share_of(r.correct, r.labelled), r.labelled);
    if (r.top > 1) text += fmt::format(", top-{} {:.2f} %", r.top, 100 * share_of(r.correct_top, r.labelled));
    text += "\n";
  }
  if (!r.out.empty()) text += fmt::format("written   {}\n", r.out.string());
  return text;
}

std::string to_json(const InferResult& r) {
  const auto accuracy = [&](std::uint64_t correct) {
    return r.labelled > 0 ? Json(share_of(correct, r.labelled)) : Json();
  };
  const EngineSettings& settings = r.engine_rate.settings;
  Json left_out = Json::array();
  for (const LeftOutEngine& each : r.left_out) left_out.push_back({{"engine", each.engine}, {"reason", each.reason}});
  const Json json{
      {"model", r.model},
      {"data", r.data},
      {"engine", r.engine},
      {"engine_version", r.engine_version},
      {"precision", r.compiled.precision.empty() ? Json() : Json(r.compiled.precision)},
      {"kernels", r.compiled.kernels},
      {"streams", settings.streams},
      {"threads", settings.threads},
      {"batch", settings.batch},
      {"settings",
       r.settings_file.empty() ? Json() : Json{{"file", r.settings_file.string()}, {"used", r.from_settings}}},
      {"image_size", r.image_size},
      {"mean", r.normalisation.mean},
      {"std", r.normalisation.std},
      {"classes", r.classes},
      {"samples", r.samples},
      {"resumed", r.resumed},
      {"bad", r.bad},
      {"seconds", r.seconds},
      {"samples_per_s", r.samples_per_s()},
      {"limit", r.engine_limits() ? "engine" : "loader"},
      {"loader_wait", time_share(r.loader_wait_s, r)},
      {"engine_wait", time_share(r.engine_wait_s, r)},
      {"engine_samples_per_s", r.engine_rate.samples_per_s},
      {"labelled", r.labelled},
      {"accuracy", accuracy(r.correct)},
      {"top", r.top},
      {"accuracy_top", accuracy(r.correct_top)},
      {"out", r.out.empty() ? Json() : Json(r.out.string())},
      {"left_out", left_out}};
  return json_text(json);
}

}  // namespace unstarve
