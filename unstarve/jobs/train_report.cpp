// The text, JSON and report of train.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "unstarve/core/json.h"
#include "unstarve/jobs/train.h"
#include "unstarve/jobs/training/prune_report.h"
#include "unstarve/observe/format.h"
#include "unstarve/observe/report.h"
#include "unstarve/pipeline/executor/bad_sample.h"
#include "unstarve/train/history_json.h"

namespace unstarve {
namespace {

// The exchange of gradients, per step.
struct ExchangeSummary {
  double exchange_ms = 0, exposed_ms = 0;
  double hidden = 0;      // share of the exchange during the backward pass
  double efficiency = 0;  // share of the training time without waiting for the exchange
};

ExchangeSummary summary_of(const TrainResult& r) {
  const ExchangeTimes& times = r.exchange;
  const double steps = std::max(1.0, static_cast<double>(times.steps));
  return {1e3 * times.seconds / steps, 1e3 * times.exposed_seconds / steps,
          times.seconds > 0 ? 1 - times.exposed_seconds / times.seconds : 0,
          1 - times.exposed_seconds / std::max(r.history.training_seconds, 1e-9)};
}

std::string top5_text(const EvaluationPoint& point) {
  return point.accuracy_top5 ? fmt::format(", top-5 {:.2f} %", 100 * *point.accuracy_top5) : "";
}

double cost_of(const TrainResult& r, double seconds) { return r.price_per_hour * seconds / 3600; }

std::string target_text(const TrainResult& r) {
  if (!r.history.reached_target) return fmt::format("target    {:.2f} % was not reached\n", 100 * r.target);
  const EvaluationPoint& last = r.history.evaluations.back();
  return fmt::format("target    {:.2f} % after {:.1f} s, {:.1f} s of training{}\n", 100 * r.target, last.seconds,
                     last.training_seconds,
                     r.price_per_hour > 0 ? fmt::format(", cost {:.4f}", cost_of(r, last.seconds)) : "");
}

nlohmann::ordered_json target_json(const TrainResult& r) {
  nlohmann::ordered_json target{{"accuracy", r.target},
                                {"reached", r.history.reached_target},
                                {"seconds", nullptr},
                                {"training_seconds", nullptr},
                                {"cost", nullptr}};
  if (!r.history.reached_target) return target;
  const EvaluationPoint& last = r.history.evaluations.back();
  target["seconds"] = last.seconds;
  target["training_seconds"] = last.training_seconds;
  if (r.price_per_hour > 0) target["cost"] = cost_of(r, last.seconds);
  return target;
}

// "12.3"; no minus sign before zero.
std::string seconds_text(double seconds) { return fmt::format("{:.1f}", std::abs(seconds) < 0.05 ? 0.0 : seconds); }

std::string phases_text(const TrainResult& r) {
  std::string text;
  for (const PhaseTimes& phase : r.phases) {
    text += fmt::format("phase     {}", to_text(phase.phase));
    if (phase.steps > 0) text += fmt::format(": {:.1f} s, {:.0f} images/s", phase.seconds, phase.samples_per_s());
    if (phase.accuracy) text += fmt::format(", accuracy {:.2f} %", 100 * *phase.accuracy);
    text += phase.steps > 0 ? "\n" : ": not in this run\n";
  }
  if (!r.effect) return text;
  const ProgressiveEffect& e = *r.effect;
  return text + fmt::format(
                    "schedules {:.1f} s of training; without them an estimated {:.1f} s, at {:.0f} images/s ({}). "
                    "Saved by image "
                    "size: {:.1f} s, augmentation: {:.1f} s, samples: {:.1f} s\n",
                    e.seconds, e.seconds_without, e.full_rate, e.full_rate_measured ? "measured" : "estimated",
                    e.saved_by_image_size, e.saved_by_augmentation, e.saved_by_samples);
}

nlohmann::ordered_json progressive_json(const TrainResult& r) {
  nlohmann::ordered_json json{{"phases", nlohmann::json::array()}, {"effect", nullptr}};
  for (const PhaseTimes& phase : r.phases) {
    const EpochValues& values = phase.phase.values;
    json["phases"].push_back({{"first_epoch", phase.phase.epoch + 1},
                              {"epochs", phase.phase.epochs},
                              {"image_size", values.image_size},
                              {"augmentation", values.augmentation},
                              {"samples_share", values.samples},
                              {"steps", phase.steps},
                              {"samples", phase.samples},
                              {"seconds", phase.seconds},
                              {"samples_per_s", phase.samples_per_s()},
                              {"data_wait", phase.seconds > 0 ? phase.wait_seconds / phase.seconds : 0},
                              {"accuracy", nullptr}});
    if (phase.accuracy) json["phases"].back()["accuracy"] = *phase.accuracy;
  }
  if (!r.effect) return json;
  const ProgressiveEffect& e = *r.effect;
  json["effect"] = {{"full_samples_per_s", e.full_rate},
                    {"full_rate", e.full_rate_measured ? "measured" : "estimated"},
                    {"seconds", e.seconds},
                    {"estimated_seconds_without", e.seconds_without},
                    {"estimated_saved",
                     {{"image_size", e.saved_by_image_size},
                      {"augmentation", e.saved_by_augmentation},
                      {"samples", e.saved_by_samples}}}};
  return json;
}

std::string setup_of(const TrainResult& r) {
  return fmt::format("{} on {}, batch {}", r.settings.train.model, r.settings.train.device,
                     r.settings.pipeline.batch.size);
}

std::string verdict_of(const TrainResult& r) {
  const TrainHistory& h = r.history;
  std::string text = fmt::format("{:.1f} epochs in {}", r.epochs, format_duration(h.seconds));
  if (h.reached_target)
    text += fmt::format("; the target of {:.2f} % was reached after {}", 100 * r.target,
                        format_duration(h.evaluations.back().seconds));
  else if (r.target > 0)
    text += fmt::format("; the target of {:.2f} % was not reached", 100 * r.target);
  return text;
}

CurveChart time_chart(const char* title, CurveUnit unit, std::vector<Curve> curves) {
  CurveChart chart{title, "seconds", CurveAxis::kLinear, unit, false, std::move(curves), {}};
  for (const Curve& curve : chart.curves)
    if (!curve.points.empty()) chart.x_to = std::max(chart.x_to, curve.points.back().x);
  return chart;
}

Curve loss_curve(const TrainHistory& history) {
  Curve curve{"loss of a batch", CurveLook::kLine, {}};
  for (const TrainPoint& point : history.points) curve.points.push_back({point.seconds, point.loss});
  return curve;
}

// The estimated training time without the schedules after `training_s` of the run.
double without_schedules(const TrainResult& r, double training_s) {
  double before = 0, without = 0;
  for (const PhaseTimes& phase : r.phases) {
    if (phase.steps == 0) continue;
    const double part = std::clamp((training_s - before) / std::max(phase.seconds, 1e-9), 0.0, 1.0);
    without += part * seconds_without(phase, *r.effect);
    before += phase.seconds;
  }
  return without;
}

std::vector<Curve> accuracy_curves(const TrainResult& r) {
  Curve measured{"measured", CurveLook::kLine, {}};
  Curve estimated{"estimated without the schedules, at the same epochs", CurveLook::kDashed, {}};
  for (const EvaluationPoint& point : r.history.evaluations) {
    measured.points.push_back({point.training_seconds, point.accuracy});
    if (r.effect) estimated.points.push_back({without_schedules(r, point.training_seconds), point.accuracy});
  }
  std::vector<Curve> curves{std::move(measured)};
  if (r.effect) curves.push_back(std::move(estimated));
  return curves;
}

// Where the image size changes, in seconds of training.
std::vector<CurveMark> size_marks(const TrainResult& r) {
  constexpr std::size_t kMost = 5;  // each has a row of its own
  std::vector<CurveMark> marks;
  double seconds = 0;
  int before = 0;
  for (const PhaseTimes& phase : r.phases) {
    const int side = phase.phase.values.image_size;
    if (phase.steps > 0 && before != 0 && side != before) marks.push_back({fmt::format("{} px", side), seconds});
    if (phase.steps > 0) before = side;
    seconds += phase.seconds;
  }
  if (marks.size() > kMost) marks.clear();
  return marks;
}

FiguresTable phases_table(const TrainResult& r) {
  FiguresTable table{"Phases",
                     {"phase", "image size", "augmentation", "samples", "seconds", "images/s", "waiting", "accuracy",
                      "the same epochs without schedules"},
                     {}};
  table.named = true;
  for (const PhaseTimes& phase : r.phases) {
    const EpochValues& values = phase.phase.values;
    std::vector<std::string> row{epochs_text(phase.phase), fmt::format("{} px", values.image_size),
                                 format_percent(values.augmentation), format_percent(values.samples)};
    if (phase.steps == 0) {
      row.insert(row.end(), {"", "", "", "", "not in this run"});
    } else {
      row.push_back(fmt::format("{:.1f}", phase.seconds));
      row.push_back(format_rate(phase.samples_per_s()));
      row.push_back(format_percent(phase.wait_seconds / std::max(phase.seconds, 1e-9)));
      row.push_back(phase.accuracy ? fmt::format("{:.2f} %", 100 * *phase.accuracy) : "");
      row.push_back(fmt::format("estimated {:.1f} s without schedules", seconds_without(phase, *r.effect)));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

FiguresTable effect_table(const ProgressiveEffect& e) {
  FiguresTable table{"Effect of the schedules on the training time", {"part", "seconds", "basis"}, {}};
  table.named = true;
  const auto row = [&](const char* part, double seconds, const char* basis) {
    table.rows.push_back({part, seconds_text(seconds), basis});
  };
  row("without schedules", e.seconds_without, "estimated: all samples of the same epochs at the full rate");
  row("saved by the image size", e.saved_by_image_size,
      "estimated: phases with smaller images, compared with the full rate");
  row("saved by the augmentation", e.saved_by_augmentation,
      "estimated: phases where only the augmentation is weaker, compared with the full rate");
  row("saved by the samples", e.saved_by_samples, "estimated: samples left out, at the full rate");
  row("with schedules", e.seconds, "measured, without evaluations and checkpoints");
  return table;
}

CurveSection progressive_section(const TrainResult& r) {
  CurveSection section;
  section.title = "Progressive training";
  section.tables = {phases_table(r)};
  if (!r.effect) return section;
  const ProgressiveEffect& e = *r.effect;
  section.verdict =
      fmt::format("{:.1f} s of training, an estimated {:.1f} s without the schedules", e.seconds, e.seconds_without);
  section.tiles = {
      {fmt::format("{:.2f} \u00d7", e.seconds_without / std::max(e.seconds, 1e-9)), "estimated speed-up per epoch"},
      {format_rate(e.full_rate),
       fmt::format("images/s with full values, {}", e.full_rate_measured ? "measured" : "estimated by the pixels")}};
  section.notes = {
      "The estimate is for the same number of epochs. It does not predict the accuracy of a run without the schedules: "
      "compare with such a run."};
  section.tables.push_back(effect_table(e));
  return section;
}

}  // namespace

std::string to_text(const TrainResult& r) {
  const TrainHistory& h = r.history;
  std::string text =
      fmt::format("{} on {}: {:.1f} epochs, {} steps of {} in {:.0f} s, {:.0f} images/s, {:.1f} % waiting for data\n",
                  r.settings.train.model, r.settings.train.device, r.epochs, h.steps, r.settings.pipeline.batch.size,
                  h.seconds, static_cast<double>(h.samples) / h.seconds, 100 * h.wait_seconds / h.seconds);
  if (r.ranks > 1) {
    const ExchangeSummary s = summary_of(r);
    text += fmt::format(
        "ranks     {}, gradients exchanged in {:.1f} ms per step, {:.0f} % of it during the backward pass; scaling "
        "efficiency at most {:.1f} %\n",
        r.ranks, s.exchange_ms, 100 * s.hidden, 100 * s.efficiency);
  }
  if (!h.points.empty())
    text += fmt::format("loss      {:.3f} -> {:.3f}\n", h.points.front().loss, h.points.back().loss);
  if (!h.evaluations.empty())
    text += fmt::format("accuracy  {:.2f} %{} (validation loss {:.3f})\n", 100 * h.evaluations.back().accuracy,
                        top5_text(h.evaluations.back()), h.evaluations.back().loss);
  if (r.target > 0) text += target_text(r);
  text += phases_text(r);
  if (r.pruning) text += to_text(*r.pruning, r.settings.train.prune);
  if (r.settings.train.qat.enabled)
    text += "int8      accuracies are measured in int8; unstarve export writes the checkpoint as an int8 model\n";
  if (r.price_per_hour > 0)
    text += fmt::format("cost      {:.4f} at {:g} per hour\n", cost_of(r, h.seconds), r.price_per_hour);
  for (const BadSample& bad : r.bad) text += fmt::format("bad       {}: {}\n", to_string(bad.location), bad.reason);
  return text;
}

std::string to_json(const TrainResult& r) {
  const TrainHistory& h = r.history;
  nlohmann::ordered_json json;
  json["model"] = r.settings.train.model;
  json["device"] = r.settings.train.device;
  json["batch"] = r.settings.pipeline.batch.size;
  json["parameters"] = r.parameters;
  json["macs"] = r.macs;
  json["epochs"] = r.epochs;
  json["preparation_seconds"] = r.preparation_seconds;
  nlohmann::ordered_json history = to_json(h);
  for (const char* const key :
       {"steps", "samples", "seconds", "samples_per_s", "data_wait", "loss_first", "loss_last", "accuracy", "val_loss"})
    json[key] = std::move(history[key]);
  json["cost"] = r.price_per_hour > 0 ? nlohmann::ordered_json(cost_of(r, h.seconds)) : nlohmann::ordered_json();
  json["target"] = r.target > 0 ? target_json(r) : nlohmann::ordered_json();
  json["ranks"] = nullptr;
  if (r.ranks > 1) {
    const ExchangeSummary s = summary_of(r);
    json["ranks"] = {{"world", r.ranks},
                     {"exchange_ms", s.exchange_ms},
                     {"exposed_ms", s.exposed_ms},
                     {"hidden", s.hidden},
                     {"efficiency", s.efficiency}};
  }
  json["resident"] = nullptr;
  if (r.resident)
    json["resident"] = {{"images", r.resident->images}, {"bytes", r.resident->bytes}, {"seconds", r.resident->seconds}};
  json["progressive"] = r.phases.empty() ? nlohmann::ordered_json() : progressive_json(r);
  json["pruning"] = r.pruning ? to_json(*r.pruning, r.settings.train.prune) : nlohmann::ordered_json();
  json["points"] = std::move(history["points"]);
  json["evaluations"] = std::move(history["evaluations"]);
  json["bad"] = nlohmann::json::array();
  for (const BadSample& bad : r.bad)
    json["bad"].push_back({{"location", to_string(bad.location)}, {"reason", bad.reason}});
  return json_text(json);
}

Report report_of(const TrainResult& r, const std::string& command) {
  Report report = report_of_now("unstarve train " + r.data, command);
  const TrainHistory& h = r.history;
  CurveSection section;
  section.title = "Training of " + setup_of(r);
  section.verdict = verdict_of(r);
  if (!h.evaluations.empty())
    section.tiles.push_back({fmt::format("{:.2f} %", 100 * h.evaluations.back().accuracy), "accuracy"});
  section.tiles.push_back({format_duration(h.seconds), "with evaluations and checkpoints"});
  section.tiles.push_back({format_rate(static_cast<double>(h.samples) / std::max(h.seconds, 1e-9)), "images/s"});
  section.tiles.push_back({format_percent(h.wait_seconds / std::max(h.seconds, 1e-9)), "waiting for data"});
  if (r.price_per_hour > 0) section.tiles.push_back({fmt::format("{:.4f}", cost_of(r, h.seconds)), "cost"});
  section.charts.push_back(time_chart("Loss", CurveUnit::kNumber, {loss_curve(h)}));
  if (!h.evaluations.empty()) {
    section.charts.push_back(
        time_chart("Accuracy over training time, without evaluations", CurveUnit::kPercent, accuracy_curves(r)));
    section.charts.back().marks = size_marks(r);
  }
  report.curves.push_back(std::move(section));
  if (!r.phases.empty()) report.curves.push_back(progressive_section(r));
  if (r.pruning) report.curves.push_back(section_of(*r.pruning, r.settings.train.prune));
  return report;
}

}  // namespace unstarve
