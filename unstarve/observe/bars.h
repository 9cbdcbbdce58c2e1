#pragma once
// A part of the report: horizontal bars, each of one or several parts side by side, such as the time lost per cause.
//
// Threads: plain data and pure functions. Texts are escaped; bars whose figures are not finite are drawn empty.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace unstarve {

struct BarPart {
  std::string name;  // in the legend; empty: the bar has one part
  double value = 0;  // 0 or more
};

struct Bar {
  std::string name;
  std::string figure;  // shown at its end
  std::vector<BarPart> parts;
  double low = 0, high = 0;  // 95 % confidence interval of the sum of the parts; equal: none
};

// Parts of one name have the same colour in all bars of the page.
struct BarChart {
  std::string title;
  std::string unit;  // of the axis, such as "ms"
  std::vector<Bar> bars;
  std::string mark_name;  // of a vertical line at `mark`; empty: none
  double mark = 0;
  double end = 0;  // of the axis: longer bars are cut there; 0: the longest bar ends the axis
};

// For screen readers: the figures of all bars.
[[nodiscard]] std::string in_words(const BarChart& chart);
// {"title", "unit", "mark_name", "mark", "end", "bars": [{"name", "figure", "parts": [[name, value]], "low", "high"}]}
[[nodiscard]] nlohmann::json island_of(const BarChart& chart);

}  // namespace unstarve
