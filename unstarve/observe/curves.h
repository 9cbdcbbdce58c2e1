#pragma once
// A part of the report with charts of curves, such as the loss over the learning rate, and tables with their figures.
//
// Threads: plain data and pure functions. Texts are escaped; figures that are not finite are left out of the charts.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "unstarve/observe/bars.h"
#include "unstarve/observe/flame.h"
#include "unstarve/observe/timeline.h"

namespace unstarve {

struct CurvePoint {
  double x = 0;  // above 0 on a logarithmic axis
  double y = 0;
  double low = 0, high = 0;  // 95 % confidence interval of y; equal: none
};

enum class CurveLook { kLine, kDashed, kDots };

struct Curve {
  std::string name;
  CurveLook look = CurveLook::kLine;
  std::vector<CurvePoint> points;     // in the order of x
  std::vector<std::string> labels{};  // of the points, written next to them where there is room; empty: none
  std::vector<double> areas{};        // of the marks, relative to the largest one of the chart; empty: all are equal
};

// A vertical line.
struct CurveMark {
  std::string name;
  double x = 0;
};

enum class CurveAxis { kDecades, kDoublings, kLinear };  // the x axis: logarithmic with these labels, or linear
enum class CurveUnit { kNumber, kPercent, kGigabyte };   // of y; percent: shares from 0 to 1; gigabyte: bytes

// Points beyond the axes are not shown.
struct CurveChart {
  std::string title;
  std::string x_title;
  CurveAxis axis = CurveAxis::kDecades;
  CurveUnit unit = CurveUnit::kNumber;
  bool from_zero = false;  // whether the y axis begins at 0
  std::vector<Curve> curves;
  std::vector<CurveMark> marks;
  double x_from = 0, x_to = 0;  // ends of the x axis; 0: those of the points, or 0 on a linear axis
  double y_from = 0, y_to = 0;  // ends of the y axis; equal: those of the lines and their intervals
};

// A figure in large letters.
struct ReportTile {
  std::string value;
  std::string label;
};

// All columns but the last one are numbers; with `named`, the first one is text too.
struct FiguresTable {
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  bool folded = false;  // shown on request
  bool named = false;
};

// A cause of lost time.
struct ReportFinding {
  std::string title, evidence, change;
  std::string gain;          // empty: unknown
  std::string confidence{};  // empty: not known
};

// A file next to the page.
struct ReportLink {
  std::string url;  // relative
  std::string name;
  std::string text;  // what it is
};

struct CurveSection {
  std::string title;
  std::string verdict;  // one sentence
  std::vector<ReportTile> tiles;
  std::vector<ReportFinding> findings;  // the most expensive first
  std::vector<BarChart> bars;
  std::vector<CurveChart> charts;
  std::vector<Timeline> timelines;
  std::vector<FlameGraph> flames;
  std::vector<FiguresTable> tables;
  std::vector<std::string> notes;
  std::vector<ReportLink> links;
};

[[nodiscard]] std::string figures_table(const FiguresTable& table, const std::string& link);
// For screen readers: the first and last figure of each curve, or all figures with their labels; and the marks.
[[nodiscard]] std::string in_words(const CurveChart& chart);
// {"title", "x_title", "axis": "decades", "doublings" or "linear", "unit": "number", "percent" or "gigabyte",
// "from_zero", "x_from", "x_to", "y_from", "y_to", "curves": [{"name", "look": "line", "dashed" or "dots", "points":
// [[x, y, low, high]], "labels": [] and "areas": [] if there are any}], "marks": [{"name", "x"}]}
[[nodiscard]] nlohmann::json island_of(const CurveChart& chart);

}  // namespace unstarve
