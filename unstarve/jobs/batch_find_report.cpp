// The text, JSON and report of batch-find.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "unstarve/core/json.h"
#include "unstarve/jobs/batch_find.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/observe/format.h"
#include "unstarve/observe/report.h"

namespace unstarve {
namespace {

// "31.2 [30.8, 31.6]"
std::string rate_text(const RateEstimate& rate) {
  return fmt::format("{} [{}, {}]", format_rate(rate.rate), format_rate(rate.low), format_rate(rate.high));
}

std::string marks_of(const BatchFindResult& r, std::size_t index) {
  std::string marks = index == r.knee ? "knee" : "";
  if (index == r.best) marks += marks.empty() ? "best" : ", best";
  if (index + 1 == r.search.points.size()) marks += marks.empty() ? "largest" : ", largest";
  return marks;
}

// "12 sizes"
std::string sizes_of(const BatchFindResult& r) {
  const std::size_t sizes = r.search.points.size();
  return fmt::format("{} size{}", sizes, sizes == 1 ? "" : "s");
}

std::string knee_sentence(const BatchFindResult& r) {
  const BatchPoint &knee = r.knee_point(), &best = r.best_point();
  if (r.search.points.size() == 1)
    return fmt::format("batch {} is the only size measured: {} samples/s", knee.batch, rate_text(knee.together));
  if (r.knee == r.best)
    return fmt::format(
        "batch {} is the smallest with at least {:.0f} % of the best rate, and is the best of {}: {} samples/s",
        knee.batch, 100 * kKneeShare, sizes_of(r), rate_text(knee.together));
  return fmt::format(
      "batch {} is the smallest with at least {:.0f} % of the best rate, within its interval: {} "
      "samples/s, {} of the rate at batch {}",
      knee.batch, 100 * kKneeShare, rate_text(knee.together), format_percent(knee.together.rate / best.together.rate),
      best.batch);
}

std::string largest_sentence(const BatchFindResult& r) {
  std::string text = fmt::format("{} is the largest size {}: {}", r.largest_point().batch,
                                 r.search.end == GrowthEnd::kMemory ? "that fits" : "measured", r.search.reason);
  if (r.search.end != GrowthEnd::kMemory && r.search.predicted_largest)
    text += fmt::format("; about {} samples would fit in {}", *r.search.predicted_largest,
                        format_bytes(r.search.limit_bytes));
  return text;
}

std::string ratio_text(const RatioInterval& ratio) { return format_interval(ratio.ratio, ratio.low, ratio.high); }

// What a ratio of an unaligned size to a multiple of 8 means.
const char* verdict_on(const RatioInterval& ratio) {
  if (ratio.high < 1) return "slower";
  return ratio.low > 1 ? "not slower" : "no difference beyond the interval";
}

std::string batch_sentence(const BatchFindResult& r) {
  const BatchCheck& check = r.batch_check;
  if (check.batch == 0) return "not measured: " + check.reason;
  return fmt::format("batch {} reaches {} times the samples per second of {} (trainer alone): {}", check.batch,
                     ratio_text(check.ratio), check.multiple, verdict_on(check.ratio));
}

std::string channels_sentence(const BatchFindResult& r) {
  const ChannelCheck& check = r.channel_check;
  if (!check.layer) return "not measured: " + check.reason;
  return fmt::format("{} to {} channels reach {} times the multiply-adds per second of {} to {} ({} alone): {}",
                     check.unaligned.in, check.unaligned.out, ratio_text(check.ratio), check.layer->in,
                     check.layer->out, check.layer->name, verdict_on(check.ratio));
}

std::string unaligned_sentence(const BatchFindResult& r) {
  if (r.unaligned_layers.empty()) return "none: all channel counts are multiples of 8";
  std::vector<std::string> layers;
  for (const LayerShape& unaligned : r.unaligned_layers)
    layers.push_back(fmt::format("{} ({} to {})", unaligned.name, unaligned.in, unaligned.out));
  return fmt::format("{}", fmt::join(layers, ", "));
}

std::string use_sentence(const BatchFindResult& r) {
  return fmt::format("{} ({} rule for {}: {:.3g} at batch {})", flags_of(r), to_string(r.rule),
                     word_of(r.settings.train.optimiser.name), r.settings.train.learning_rate,
                     r.settings.pipeline.batch.size);
}

Curve rates_of(const BatchFindResult& r, const char* name, RateEstimate BatchPoint::*rate) {
  Curve curve{name, CurveLook::kLine, {}};
  for (const BatchPoint& point : r.search.points) {
    const RateEstimate& of = point.*rate;
    curve.points.push_back({static_cast<double>(point.batch), of.rate, of.low, of.high});
  }
  return curve;
}

std::vector<CurveMark> chart_marks(const BatchFindResult& r) {
  const int knee = r.knee_point().batch, largest = r.largest_point().batch;
  const char* const name = r.search.end == GrowthEnd::kMemory ? "largest that fits" : "largest measured";
  if (knee == largest) return {{fmt::format("knee and {}, {}", name, knee), static_cast<double>(knee)}};
  return {{fmt::format("knee, {}", knee), static_cast<double>(knee)},
          {fmt::format("{}, {}", name, largest), static_cast<double>(largest)}};
}

CurveChart chart_of(const char* title, CurveUnit unit, std::vector<Curve> curves, std::vector<CurveMark> marks) {
  return {title, "samples per batch", CurveAxis::kDoublings, unit, true, std::move(curves), std::move(marks)};
}

std::vector<CurveChart> charts_of(const BatchFindResult& r) {
  Curve memory{"peak memory", CurveLook::kLine, {}}, limit{"limit", CurveLook::kDashed, {}};
  Curve busy{"utilisation of the trainer", CurveLook::kLine, {}}, wait{"waiting for data", CurveLook::kDashed, {}};
  for (const BatchPoint& point : r.search.points) {
    const auto batch = static_cast<double>(point.batch);
    if (point.memory_bytes > 0) memory.points.push_back({batch, static_cast<double>(point.memory_bytes)});
    busy.points.push_back({batch, point.utilisation()});
    wait.points.push_back({batch, point.data_wait});
  }
  if (!r.target.cuda() && r.search.end == GrowthEnd::kMemory)  // else far above the curve
    for (const BatchPoint* point : {&r.search.points.front(), &r.search.points.back()})
      limit.points.push_back({static_cast<double>(point->batch), static_cast<double>(r.search.limit_bytes)});
  std::vector<Curve> memories{memory};
  if (!limit.points.empty()) memories.push_back(limit);
  return {chart_of("Samples per second", CurveUnit::kNumber,
                   {rates_of(r, "loader and trainer", &BatchPoint::together),
                    rates_of(r, "trainer alone", &BatchPoint::alone)},
                   chart_marks(r)),
          chart_of("Peak memory", CurveUnit::kGigabyte, memories, chart_marks(r)),
          chart_of("Utilisation and data wait", CurveUnit::kPercent, {busy, wait}, chart_marks(r))};
}

FiguresTable table_of(const BatchFindResult& r) {
  FiguresTable table{"All sizes",
                     {"batch", "samples/s", "trainer alone", "step ms", "memory", "utilisation", "data wait", "remark"},
                     {},
                     false};
  for (std::size_t i = 0; i < r.search.points.size(); ++i) {
    const BatchPoint& p = r.search.points[i];
    table.rows.push_back({std::to_string(p.batch), rate_text(p.together), rate_text(p.alone), format_rate(p.step_ms()),
                          format_bytes(p.memory_bytes), format_percent(p.utilisation()), format_percent(p.data_wait),
                          marks_of(r, i)});
  }
  return table;
}

std::string batch_title(const BatchFindResult& r) {
  return fmt::format("{} on {} from {}", r.settings.train.model, r.target.name, r.data);
}

}  // namespace

std::string to_text(const BatchFindResult& r) {
  std::string text = fmt::format("{}: {} in {}\n", batch_title(r), sizes_of(r), format_duration(r.seconds));
  text += fmt::format("  {:>7} {:>24} {:>24} {:>9} {:>9} {:>11}\n", "batch", "samples/s", "trainer alone", "step ms",
                      "memory", "utilisation");
  for (std::size_t i = 0; i < r.search.points.size(); ++i) {
    const BatchPoint& p = r.search.points[i];
    std::string line = fmt::format("  {:>7} {:>24} {:>24} {:>9} {:>9} {:>11}  {}", p.batch, rate_text(p.together),
                                   rate_text(p.alone), format_rate(p.step_ms()), format_bytes(p.memory_bytes),
                                   format_percent(p.utilisation()), marks_of(r, i));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  text += "knee           " + knee_sentence(r) + "\n";
  text += "largest        " + largest_sentence(r) + "\n";
  text += "batch of 8     " + batch_sentence(r) + "\n";
  text += "channels of 8  " + channels_sentence(r) + "\n";
  text += "unaligned      " + unaligned_sentence(r) + "\n";
  return text + "use            " + use_sentence(r) + "\n";
}

namespace {

Json multiples_json(const BatchFindResult& r) {
  const auto with_ratio = [](Json json, const RatioInterval& ratio) {
    json["ratio"] = ratio.ratio;
    json["low"] = ratio.low;
    json["high"] = ratio.high;
    return json;
  };
  const BatchCheck& batch = r.batch_check;
  const ChannelCheck& channels = r.channel_check;
  Json json;
  if (batch.batch > 0)
    json["batch"] = with_ratio({{"size", batch.batch}, {"multiple", batch.multiple}}, batch.ratio);
  else
    json["batch"] = {{"reason", batch.reason}};
  if (channels.layer)
    json["channels"] = with_ratio({{"layer", channels.layer->name},
                                   {"in", channels.unaligned.in},
                                   {"out", channels.unaligned.out},
                                   {"multiple_in", channels.layer->in},
                                   {"multiple_out", channels.layer->out}},
                                  channels.ratio);
  else
    json["channels"] = {{"reason", channels.reason}};
  json["unaligned_layers"] = Json::array();
  for (const LayerShape& unaligned : r.unaligned_layers)
    json["unaligned_layers"].push_back({{"layer", unaligned.name}, {"in", unaligned.in}, {"out", unaligned.out}});
  return json;
}

}  // namespace

std::string to_json(const BatchFindResult& r) {
  Json json;
  json["data"] = r.data;
  json["model"] = r.settings.train.model;
  json["device"] = r.target.name;
  json["precision"] = to_string(r.settings.train.precision);
  json["points"] = Json::array();
  for (const BatchPoint& p : r.search.points)
    json["points"].push_back({{"batch", p.batch},
                              {"samples_per_s", p.together.rate},
                              {"low", p.together.low},
                              {"high", p.together.high},
                              {"blocks", p.together.blocks},
                              {"trainer", p.alone.rate},
                              {"trainer_low", p.alone.low},
                              {"trainer_high", p.alone.high},
                              {"step_ms", p.step_ms()},
                              {"data_wait", p.data_wait},
                              {"utilisation", p.utilisation()},
                              {"memory_bytes", p.memory_bytes > 0 ? Json(p.memory_bytes) : Json()}});
  json["knee"] = {{"batch", r.knee_point().batch},
                  {"of_best", r.knee_point().together.rate / r.best_point().together.rate}};
  json["best"] = {{"batch", r.best_point().batch}};
  const auto& predicted = r.search.predicted_largest;
  json["largest"] = {{"batch", r.largest_point().batch},
                     {"end", to_string(r.search.end)},
                     {"reason", r.search.reason},
                     {"limit_bytes", r.search.limit_bytes},
                     {"predicted", predicted ? Json(*predicted) : Json()}};
  json["multiple_of_8"] = multiples_json(r);
  json["use"] = {{"batch", r.knee_point().batch},
                 {"learning_rate", r.learning_rate},
                 {"rule", to_string(r.rule)},
                 {"from_batch", r.settings.pipeline.batch.size},
                 {"from_learning_rate", r.settings.train.learning_rate},
                 {"flags", flags_of(r)}};
  json["seconds"] = r.seconds;
  return json_text(json);
}

Report report_of(const BatchFindResult& r, const std::string& command) {
  Report report = report_of_now("unstarve batch-find " + r.data, command);
  CurveSection section;
  section.title = "Batch sizes of " + batch_title(r);
  section.verdict = knee_sentence(r);
  section.tiles = {
      {std::to_string(r.knee_point().batch), "knee: smallest size near the best rate"},
      {format_rate(r.knee_point().together.rate), "samples/s there"},
      {fmt::format("{:.3g}", r.learning_rate),
       fmt::format("learning rate, {} rule for {}", to_string(r.rule), word_of(r.settings.train.optimiser.name))}};
  section.charts = charts_of(r);
  section.tables = {table_of(r)};
  section.notes = {"Use " + use_sentence(r), "Largest size: " + largest_sentence(r),
                   "Batch not a multiple of 8: " + batch_sentence(r),
                   "Channels not multiples of 8: " + channels_sentence(r),
                   "Layers with such channels: " + unaligned_sentence(r)};
  report.curves.push_back(std::move(section));
  return report;
}

}  // namespace unstarve
