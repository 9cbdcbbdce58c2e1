// The text, JSON and report of models.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unstarve/core/json.h"
#include "unstarve/jobs/common/json.h"
#include "unstarve/jobs/models.h"
#include "unstarve/observe/format.h"
#include "unstarve/observe/report.h"

namespace unstarve {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// "25.6 M", "4.09 G"
std::string count_text(double count) {
  if (count >= 1e9) return fmt::format("{:.2f} G", count / 1e9);
  return fmt::format("{:.{}f} M", count / 1e6, count < 100e6 ? (count < 10e6 ? 2 : 1) : 0);
}

std::string figure(double value) { return format_rate(value); }

std::string share_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string interval_text(const ConfidenceInterval& interval) {
  return fmt::format("[{}, {}]", figure(interval.low), figure(interval.high));
}

std::string accuracy_text(const ModelRow& row) {
  if (!row.accuracy) return "-";
  const ConfidenceInterval& interval = row.accuracy->interval;
  return fmt::format("{} [{:.1f}, {:.1f}]", share_text(row.accuracy->top1), 100 * interval.low, 100 * interval.high);
}

std::string published_text(const ModelRow& row) { return row.published ? share_text(row.published->top1) : "-"; }

const char* front_text(const ModelRow& row) {
  if (!row.front) return "-";
  return *row.front ? "front" : "";
}

// The network; with the file of its weights if another row has the same network, with the path if also the same file.
std::string label_of(const ModelsResult& r, const ModelRow& row) {
  const auto is_network = [&](const ModelRow& other) { return other.network == row.network; };
  if (row.weights.empty() || std::ranges::count_if(r.rows, is_network) < 2) return row.network;
  const auto file = row.weights.filename();
  const auto is_file = [&](const ModelRow& other) { return is_network(other) && other.weights.filename() == file; };
  const bool named = !file.empty() && std::ranges::count_if(r.rows, is_file) < 2;  // "": a folder, as "checkpoints/"
  return fmt::format("{} ({})", row.network, (named ? file : row.weights).string());
}

bool has_accuracy(const ModelsResult& r) {
  return std::ranges::any_of(r.rows, [](const ModelRow& row) { return row.accuracy.has_value(); });
}

// The columns of the text and the report, the name first.
std::vector<std::string> columns_of(const ModelsResult& r) {
  std::vector<std::string> columns{"network", "parameters", "multiply-adds", "size",     "latency, ms",
                                   "95 %",    "p99, ms",    "images/s",      "published"};
  if (has_accuracy(r)) columns.insert(columns.end() - 1, "accuracy");
  columns.emplace_back("Pareto");
  return columns;
}

std::vector<std::string> cells_of(const ModelsResult& r, const ModelRow& row) {
  std::vector<std::string> cells{label_of(r, row),
                                 count_text(static_cast<double>(row.parameters)),
                                 count_text(row.multiply_adds),
                                 format_bytes(row.weight_bytes),
                                 figure(row.latency.p50_ms),
                                 interval_text(row.latency.median_ms),
                                 figure(row.latency.p99_ms),
                                 figure(row.throughput.per_s),
                                 published_text(row)};
  if (has_accuracy(r)) cells.insert(cells.end() - 1, accuracy_text(row));
  cells.emplace_back(front_text(row));
  return cells;
}

std::string table_text(const ModelsResult& r) {
  std::vector<std::vector<std::string>> lines{columns_of(r)};
  for (const ModelRow& row : r.rows) lines.push_back(cells_of(r, row));
  std::string text;
  for (const std::vector<std::string>& cells : lines) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      std::size_t width = 0;
      for (const std::vector<std::string>& other : lines) width = std::max(width, text_width(other[i]));
      line += (i == 0 ? "" : "  ") +
              (i == 0 || i + 1 == cells.size() ? pad_right(printable(cells[i]), width) : pad_left(cells[i], width));
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string front_sentence(const ModelsResult& r) {
  switch (r.basis) {
    case FrontBasis::kNone:
      if (const auto known = std::ranges::count_if(r.rows, [](const ModelRow& row) { return !!row.accuracy; });
          known > 0)
        return fmt::format(
            "no Pareto front: the accuracy of {} of {} networks is not known; pass --weights for all networks",
            static_cast<std::ptrdiff_t>(r.rows.size()) - known, r.rows.size());
      return fmt::format(
          "no Pareto front: no accuracy of these networks at {} px is known; pass --weights and --val "
          "to measure it",
          r.image_size);
    case FrontBasis::kMeasured: return "Pareto front: by latency and measured accuracy";
    case FrontBasis::kPublished: break;
  }
  const auto without = std::ranges::count_if(r.rows, [](const ModelRow& row) { return !row.front; });
  return fmt::format("Pareto front: by latency and published accuracy{}",
                     without > 0 ? fmt::format("; {} without one are not compared (-)", without) : "");
}

std::vector<std::string> notes_of(const ModelsResult& r) {
  std::vector<std::string> notes{front_sentence(r)};
  if (std::ranges::any_of(r.rows, [](const ModelRow& row) { return row.published.has_value(); }))
    notes.push_back(fmt::format(
        "published: top-1 accuracy on ImageNet at {} px as stated by the authors of the weights, not measured here",
        r.image_size));
  if (has_accuracy(r)) notes.push_back(fmt::format("accuracy: top-1 on {}, with its 95 % interval", r.validation));
  if (std::ranges::any_of(r.rows, [](const ModelRow& row) { return row.weights.empty(); }))
    notes.emplace_back("networks without --weights have random weights, which does not change the time");
  return notes;
}

std::string settings_sentence(const ModelsResult& r) {
  return fmt::format(
      "{} {}{}, images of {} px; latency: batch 1 with {} thread{}; images/s: batch 1, {} stream{}; {} "
      "interleaved rounds, {:.3g} s in all",
      r.engine, r.engine_version, r.precision.empty() ? "" : ", " + r.precision, r.image_size, r.threads,
      r.threads == 1 ? "" : "s", r.threads, r.threads == 1 ? "" : "s", kEngineRounds, r.seconds);
}

std::string rejected_text(const RejectedModel& model) {
  return fmt::format("{}{}: {}", model.network, model.weights.empty() ? "" : " (" + model.weights.string() + ")",
                     model.reason);
}

double accuracy_shown(const ModelsResult& r, const ModelRow& row) {
  return r.basis == FrontBasis::kMeasured ? row.accuracy->top1 : row.published->top1;
}

CurveChart scatter_chart(const ModelsResult& r) {
  CurveChart chart;
  chart.title = fmt::format("{} top-1 accuracy over latency; the area of a mark is the number of parameters",
                            r.basis == FrontBasis::kMeasured ? "Measured" : "Published ImageNet");
  chart.x_title = "latency, ms";
  chart.unit = CurveUnit::kPercent;
  Curve front{"Pareto front", CurveLook::kLine, {}}, others{"other networks", CurveLook::kDots, {}};
  double low = 1, high = 0;
  for (const ModelRow& row : r.rows) {
    if (!row.front) continue;
    const double accuracy = accuracy_shown(r, row);
    Curve& curve = *row.front ? front : others;
    CurvePoint point{row.latency.p50_ms, accuracy, 0, 0};
    if (r.basis == FrontBasis::kMeasured) {
      point.low = row.accuracy->interval.low;
      point.high = row.accuracy->interval.high;
    }
    curve.points.push_back(point);
    curve.labels.push_back(label_of(r, row));
    curve.areas.push_back(static_cast<double>(row.parameters));
    low = std::min({low, accuracy, point.high > 0 ? point.low : 1});
    high = std::max({high, accuracy, point.high});
    chart.x_to = std::max(chart.x_to, 1.3 * row.latency.p50_ms);
    chart.x_from = chart.x_from > 0 ? chart.x_from : row.latency.p50_ms / 1.3;
  }
  const double margin = std::max(0.02, 0.15 * (high - low));
  chart.y_from = std::max(0.0, low - margin);
  chart.y_to = std::min(1.0, high + margin);
  chart.curves.push_back(std::move(front));
  if (!others.points.empty()) chart.curves.push_back(std::move(others));
  return chart;
}

BarChart latency_chart(const ModelsResult& r) {
  BarChart chart;
  chart.title = "Latency of one image: median of the rounds";
  chart.unit = "ms";
  for (const ModelRow& row : r.rows) {
    const ConfidenceInterval& interval = row.latency.median_ms;
    chart.bars.push_back(
        {label_of(r, row), figure(row.latency.p50_ms), {{"", row.latency.p50_ms}}, interval.low, interval.high});
  }
  return chart;
}

std::vector<ReportTile> tiles_of(const ModelsResult& r) {
  std::vector<ReportTile> tiles;
  std::size_t fastest = kNone, best = kNone;
  for (std::size_t i = 0; i < r.rows.size(); ++i) {
    if (!r.rows[i].front || !*r.rows[i].front) continue;
    if (fastest == kNone) fastest = i;
    best = i;  // on the front a slower network is more accurate
  }
  const auto add = [&](std::size_t i, const char* what) {
    const ModelRow& row = r.rows[i];
    tiles.push_back({label_of(r, row), fmt::format("{}: {} ms, {}", what, figure(row.latency.p50_ms),
                                                   share_text(accuracy_shown(r, row)))});
  };
  if (fastest != kNone) add(fastest, "the fastest of the front");
  if (best != fastest) add(best, "the most accurate of the front");
  return tiles;
}

Json json_of(const ModelRow& row) {
  const LatencySummary& latency = row.latency;
  const RateSummary& rate = row.throughput;
  Json json{{"network", row.network},
            {"weights", row.weights.empty() ? Json() : Json(row.weights.string())},
            {"classes", row.classes},
            {"parameters", row.parameters},
            {"weight_bytes", row.weight_bytes},
            {"multiply_adds", row.multiply_adds},
            {"latency_ms",
             {{"p50", latency.p50_ms},
              {"p99", latency.p99_ms},
              {"low", latency.median_ms.low},
              {"high", latency.median_ms.high},
              {"images", latency.batches},
              {"rounds", latency.rounds_ms}}},
            {"images_per_s", {{"median", rate.per_s}, {"low", rate.median.low}, {"high", rate.median.high}}},
            {"accuracy", Json()},
            {"published", Json()},
            {"front", row.front ? Json(*row.front) : Json()}};
  if (row.accuracy)
    json["accuracy"] = {{"top1", row.accuracy->top1},
                        {"low", row.accuracy->interval.low},
                        {"high", row.accuracy->interval.high},
                        {"correct", row.accuracy->correct},
                        {"labelled", row.accuracy->labelled}};
  if (row.published) json["published"] = {{"top1", row.published->top1}, {"source", row.published->source}};
  return json;
}

}  // namespace

std::string to_text(const ModelsResult& r) {
  std::string text = settings_sentence(r) + "\n\n" + table_text(r) + "\n";
  for (const std::string& note : notes_of(r)) text += printable(note) + "\n";
  for (const RejectedModel& model : r.rejected) text += "rejected: " + printable(rejected_text(model)) + "\n";
  for (const LeftOutEngine& each : r.left_out) text += "left out: " + printable(each.reason) + "\n";
  return text;
}

std::string to_json(const ModelsResult& r) {
  Json networks = Json::array(), rejected = Json::array(), left_out = Json::array();
  for (const ModelRow& row : r.rows) networks.push_back(json_of(row));
  for (const RejectedModel& each : r.rejected)
    rejected.push_back({{"network", each.network},
                        {"weights", each.weights.empty() ? Json() : Json(each.weights.string())},
                        {"reason", each.reason}});
  for (const LeftOutEngine& each : r.left_out) left_out.push_back({{"engine", each.engine}, {"reason", each.reason}});
  Json basis;
  if (r.basis != FrontBasis::kNone) basis = r.basis == FrontBasis::kMeasured ? "measured" : "published";
  return json_text(Json{{"image_size", r.image_size},
                        {"engine", r.engine},
                        {"engine_version", r.engine_version},
                        {"precision", r.precision.empty() ? Json() : Json(r.precision)},
                        {"threads", r.threads},
                        {"rounds", kEngineRounds},
                        {"seconds", r.seconds},
                        {"validation", r.validation.empty() ? Json() : Json(r.validation)},
                        {"front_by", basis},
                        {"networks", networks},
                        {"rejected", rejected},
                        {"left_out", left_out}});
}

Report report_of(const ModelsResult& r, const std::string& command) {
  Report report = report_of_now("unstarve models", command);
  CurveSection section;
  section.title = fmt::format("{} network{} at {} px", r.rows.size(), r.rows.size() == 1 ? "" : "s", r.image_size);
  section.verdict = front_sentence(r);
  section.tiles = tiles_of(r);
  section.notes = notes_of(r);
  section.notes.front() = settings_sentence(r);  // instead of the sentence that is the verdict
  for (const RejectedModel& model : r.rejected) section.notes.push_back("rejected: " + rejected_text(model));
  for (const LeftOutEngine& each : r.left_out) section.notes.push_back("left out: " + each.reason);
  if (!r.rows.empty()) section.bars.push_back(latency_chart(r));
  if (r.basis != FrontBasis::kNone) section.charts.push_back(scatter_chart(r));
  FiguresTable table{"Networks by latency", columns_of(r), {}, false, true};
  for (const ModelRow& row : r.rows) table.rows.push_back(cells_of(r, row));
  section.tables.push_back(std::move(table));
  report.curves.push_back(std::move(section));
  return report;
}

}  // namespace unstarve
