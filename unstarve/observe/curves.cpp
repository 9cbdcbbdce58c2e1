#include "unstarve/observe/curves.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "unstarve/observe/format.h"
#include "unstarve/observe/html.h"

namespace unstarve {
namespace {

std::string figure(double value, CurveUnit unit) {
  if (unit == CurveUnit::kPercent) return format_percent(value);
  if (unit == CurveUnit::kGigabyte) return value > 0 ? format_bytes(static_cast<std::uint64_t>(value)) : "-";
  return format_rate(value);
}

}  // namespace

std::string figures_table(const FiguresTable& table, const std::string& link) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    columns.push_back({table.columns[i].c_str(), i + 1 < table.columns.size() && (i > 0 || !table.named)});
  HtmlTable html(table.caption, columns, true);
  html.link(link);
  for (const std::vector<std::string>& row : table.rows) {
    std::vector<std::string> cells;
    for (const std::string& cell : row) cells.push_back(escape_html(cell));
    html.add_row(cells);
  }
  return html.finish();
}

std::string in_words(const CurveChart& chart) {
  std::string words = chart.title + ".";
  for (const Curve& curve : chart.curves) {
    if (curve.points.empty()) continue;
    if (!curve.labels.empty()) {
      words += fmt::format(" {}:", curve.name);
      for (std::size_t i = 0; i < curve.points.size() && i < curve.labels.size(); ++i)
        words += fmt::format(" {}, {} at {:.3g};", curve.labels[i], figure(curve.points[i].y, chart.unit),
                             curve.points[i].x);
      continue;
    }
    const CurvePoint &first = curve.points.front(), &last = curve.points.back();
    words += fmt::format(" {}: {} at {:.3g}, {} at {:.3g}.", curve.name, figure(first.y, chart.unit), first.x,
                         figure(last.y, chart.unit), last.x);
  }
  for (const CurveMark& mark : chart.marks) words += fmt::format(" {}: {:.3g}.", mark.name, mark.x);
  return words;
}

nlohmann::json island_of(const CurveChart& chart) {
  static constexpr std::array<const char*, 3> kAxes{"decades", "doublings", "linear"};
  static constexpr std::array<const char*, 3> kUnits{"number", "percent", "gigabyte"}, kLooks{"line", "dashed", "dots"};
  using nlohmann::json;
  json curves = json::array(), marks = json::array();
  for (const Curve& curve : chart.curves) {
    json points = json::array();
    for (const CurvePoint& point : curve.points) {
      points.push_back({point.x, point.y});
      if (point.low < point.high) points.back().insert(points.back().end(), {point.low, point.high});
    }
    curves.push_back({{"name", curve.name},
                      {"look", kLooks.at(static_cast<std::size_t>(curve.look))},
                      {"points", std::move(points)}});
    if (!curve.labels.empty()) curves.back()["labels"] = curve.labels;
    if (!curve.areas.empty()) curves.back()["areas"] = curve.areas;
  }
  for (const CurveMark& mark : chart.marks) marks.push_back({{"name", mark.name}, {"x", mark.x}});
  return {{"title", chart.title},
          {"x_title", chart.x_title},
          {"axis", kAxes.at(static_cast<std::size_t>(chart.axis))},
          {"unit", kUnits.at(static_cast<std::size_t>(chart.unit))},
          {"from_zero", chart.from_zero},
          {"x_from", chart.x_from},
          {"x_to", chart.x_to},
          {"y_from", chart.y_from},
          {"y_to", chart.y_to},
          {"curves", std::move(curves)},
          {"marks", std::move(marks)}};
}

}  // namespace unstarve
