#include "unstarve/jobs/lr_find.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/json.h"
#include "unstarve/core/machine/cpu_split.h"
#include "unstarve/device/device.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/jobs/finders/check_finder.h"
#include "unstarve/jobs/ladder/rig.h"
#include "unstarve/jobs/train.h"
#include "unstarve/jobs/training/train_data.h"
#include "unstarve/observe/format.h"
#include "unstarve/observe/report.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/train/loader_source.h"

namespace unstarve {
namespace {

// The rate, without the digits that noise makes meaningless.
std::string rate_figure(double rate) { return fmt::format("{:.2g}", rate); }
std::string rate_figure(const SuggestedRate& suggested) {
  return suggested.rate ? rate_figure(*suggested.rate) : "none";
}

std::string setup_of(const LrFindResult& r) {
  const TrainSettings& train = r.settings.train;
  std::string text = fmt::format("{} on {}, batch {}", train.model, train.device, r.settings.pipeline.batch.size);
  if (train.accumulate > 1) text += fmt::format(" x {} accumulated", train.accumulate);
  return text + fmt::format(", {}, {}", word_of(train.optimiser.name), to_string(train.precision));
}

std::string end_of(const LrFindResult& r) {
  const RateSweep& sweep = r.sweep;
  switch (sweep.end) {
    case SweepEnd::kDiverged:
      return fmt::format("ended at {:.3g}: the smoothed loss exceeded {:.3g} times its minimum", sweep.last_rate,
                         r.options.diverged);
    case SweepEnd::kNotFinite:
      return fmt::format("ended at {:.3g}: the loss was not finite after that update", sweep.last_rate);
    case SweepEnd::kComplete: break;
  }
  return "complete";
}

std::string sweep_text(const LrFindResult& r) {
  return fmt::format("{} updates from {:.3g} to {:.3g} in {}, {}", r.sweep.points.size(), r.options.from,
                     r.sweep.last_rate, format_duration(r.seconds), end_of(r));
}

std::string verdict_of(const LrFindResult& r) {
  const SuggestedRate& steepest = r.suggestion.steepest;
  if (!steepest.rate) return steepest.reason;
  return fmt::format("use --learning-rate {}: {}", rate_figure(steepest), steepest.reason);
}

// Lets the y axes of both charts show the descent to the lowest loss: the losses at higher rates may be many times
// larger. Without a descent the axes contain everything.
void show_descent(const LrFindResult& r, CurveChart& losses, CurveChart& slopes) {
  if (!r.suggestion.slope) return;
  const double lowest = r.suggestion.lowest.loss, steepest = -*r.suggestion.slope;
  double highest = lowest;
  for (const SmoothedLoss& point : smoothed_losses(r.sweep))
    if (point.rate <= r.suggestion.lowest.rate) highest = std::max(highest, point.loss);
  const double margin = 0.4 * (highest - lowest);
  losses.y_from = lowest - margin;
  losses.y_to = highest + margin;
  slopes.y_from = -1.3 * steepest;
  slopes.y_to = 1.3 * steepest;
}

std::vector<CurveChart> loss_charts(const LrFindResult& r) {
  Curve losses{"loss", CurveLook::kDots, {}}, smoothed{"smoothed loss", CurveLook::kLine, {}};
  Curve slopes{"slope of the smoothed loss", CurveLook::kLine, {}};
  for (const RatePoint& point : r.sweep.points) losses.points.push_back({point.rate, point.loss});
  for (const SmoothedLoss& point : smoothed_losses(r.sweep)) {
    smoothed.points.push_back({point.rate, point.loss});
    if (point.slope) slopes.points.push_back({point.rate, *point.slope});
  }
  std::vector<CurveMark> marks;
  const RateSuggestion& found = r.suggestion;
  if (found.steepest.rate) marks.push_back({"steepest descent " + rate_figure(found.steepest), *found.steepest.rate});
  if (found.tenth.rate) marks.push_back({"a tenth of the minimum " + rate_figure(found.tenth), *found.tenth.rate});
  const auto chart = [&](const char* title, std::vector<Curve> curves) {
    return CurveChart{title,
                      "learning rate",
                      CurveAxis::kDecades,
                      CurveUnit::kNumber,
                      false,
                      std::move(curves),
                      marks,
                      r.options.from,
                      std::max(r.options.from, r.sweep.last_rate)};
  };
  std::vector<CurveChart> charts{chart("Loss after each update", {losses, smoothed}),
                                 chart("Change of the smoothed loss for each tenfold rate", {slopes})};
  show_descent(r, charts[0], charts[1]);
  if (slopes.points.empty()) charts.pop_back();
  return charts;
}

FiguresTable loss_table(const LrFindResult& r) {
  FiguresTable table{"All updates", {"learning rate", "loss", "smoothed loss", "at the rate", "slope"}, {}, true};
  const auto smoothed = smoothed_losses(r.sweep);
  for (std::size_t i = 0; i < smoothed.size(); ++i) {
    const RatePoint& point = r.sweep.points[i];
    table.rows.push_back({fmt::format("{:.3g}", point.rate), fmt::format("{:.4f}", point.loss),
                          fmt::format("{:.4f}", smoothed[i].loss), fmt::format("{:.3g}", smoothed[i].rate),
                          smoothed[i].slope ? fmt::format("{:.4f}", *smoothed[i].slope) : ""});
  }
  return table;
}

}  // namespace

LrFindResult run_lr_find(const LrFindOptions& options, const Progress& progress) {
  const Settings& settings = options.settings;
  if (progress) progress("opening the data", 0);
  ConfigurationFaults faults = options.faults;
  check_finder(settings, faults);
  faults.collect([&] { check_sweep(options.sweep); });
  faults.collect([&] {
    if (!options.weights.empty()) const MappedFile readable(options.weights);
  });
  const PipelineSpec none;
  const auto dataset = open_train_data({settings.pipeline, none, settings.train.classes}, {}, faults).training;
  faults.throw_if_any();
  notify_done_on_host(settings.pipeline);
  const auto device = open_device(settings.train.device);
  const auto split = make_cpu_split(settings);
  const auto trainer = make_trainer(settings.train, {}, {options.weights, false});
  if (!options.weights.empty() && !settings.train.prune.channels()) load_starting_weights(*trainer, options.weights);
  Loader::Options loading;
  if (!device->is_host()) loading.consumer = Consumer::kNormalises;
  std::unique_ptr<Loader> loader;
  {
    const CpuSplit::LoaderScope cpus(split.get());
    loader = std::make_unique<Loader>(with_full_batches(settings.pipeline, dataset->size()), dataset, *device,
                                      std::move(loading));
  }
  LoaderSource source(std::move(loader));

  LrFindResult result;
  result.settings = settings;
  result.data = name_of_sources(settings.pipeline);
  result.options = options.sweep;
  result.options.report = [&](const RateSweep& sweep) {
    if (!progress) return;
    progress(fmt::format("learning rate {:.1e}  loss {:.3f}", sweep.points.back().rate, sweep.points.back().loss),
             static_cast<double>(sweep.points.size()) / options.sweep.updates);
  };
  const double begin = seconds_now();
  result.sweep = find_learning_rate(*trainer, source, settings.train.accumulate, result.options);
  result.options.report = {};
  result.sweep.chance_loss = std::log(settings.train.classes);
  result.seconds = seconds_now() - begin;
  if (result.sweep.points.empty() && result.sweep.end == SweepEnd::kNotFinite)
    throw Error(
        ErrorKind::kCheck,
        fmt::format("lr-find {}: the loss is not finite at the first rate, {:.3g}; expected finite losses. Use a "
                    "lower --from, or check the data and the weights",
                    result.data, options.sweep.from));
  result.suggestion = suggest_rate(result.sweep);
  return result;
}

std::string to_text(const LrFindResult& r) {
  const RateSuggestion& found = r.suggestion;
  std::string text = fmt::format("{}\n{}\n", setup_of(r), sweep_text(r));
  text += fmt::format("steepest  {:<8} {}\n", rate_figure(found.steepest), found.steepest.reason);
  text += fmt::format("minimum   {:<8} {}\n", rate_figure(found.tenth), found.tenth.reason);
  if (found.steepest.rate) text += fmt::format("use       --learning-rate {}\n", rate_figure(found.steepest));
  return text;
}

std::string to_json(const LrFindResult& r) {
  const auto number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  const RateSuggestion& found = r.suggestion;
  Json json;
  json["data"] = r.data;
  json["model"] = r.settings.train.model;
  json["device"] = r.settings.train.device;
  json["precision"] = to_string(r.settings.train.precision);
  json["optimiser"] = word_of(r.settings.train.optimiser.name);
  json["batch"] = r.settings.pipeline.batch.size;
  json["accumulate"] = r.settings.train.accumulate;
  json["from"] = r.options.from;
  json["to"] = r.options.to;
  json["end"] = to_string(r.sweep.end);
  json["last_rate"] = r.sweep.last_rate;
  json["first_loss"] = r.sweep.first_loss;
  json["suggestion"] = {{"learning_rate", number(found.steepest.rate)},
                        {"slope", number(found.slope)},
                        {"reason", found.steepest.reason}};
  json["tenth_of_minimum"] = {{"learning_rate", number(found.tenth.rate)}, {"reason", found.tenth.reason}};
  json["lowest"] = {{"learning_rate", found.lowest.rate}, {"loss", found.lowest.loss}};
  json["points"] = Json::array();
  const auto smoothed = smoothed_losses(r.sweep);
  for (std::size_t i = 0; i < smoothed.size(); ++i)
    json["points"].push_back({{"learning_rate", r.sweep.points[i].rate},
                              {"loss", r.sweep.points[i].loss},
                              {"smoothed", smoothed[i].loss},
                              {"smoothed_rate", smoothed[i].rate},
                              {"slope", number(smoothed[i].slope)}});
  json["seconds"] = r.seconds;
  return json_text(json);
}

Report report_of(const LrFindResult& r, const std::string& command) {
  Report report = report_of_now("unstarve lr-find " + r.data, command);
  CurveSection section;
  section.title = "Learning rates of " + setup_of(r);
  section.verdict = verdict_of(r);
  section.tiles = {{rate_figure(r.suggestion.steepest), "steepest descent of the smoothed loss"},
                   {rate_figure(r.suggestion.tenth), "a tenth of the rate at the lowest loss"}};
  section.notes = {"Sweep: " + sweep_text(r)};
  if (r.suggestion.tenth.reason != r.suggestion.steepest.reason)
    section.notes.push_back("Second figure: " + r.suggestion.tenth.reason);
  section.charts = loss_charts(r);
  section.tables = {loss_table(r)};
  report.curves.push_back(std::move(section));
  return report;
}

}  // namespace unstarve
