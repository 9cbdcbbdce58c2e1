#pragma once
// A line chart as an image, for viewers that show images only.
//
// Threads: pure. Failure: none; points that are not finite are left out, and a series without points gives empty axes.

#include <span>
#include <vector>

#include "unstarve/core/image.h"

namespace unstarve {

struct ChartPoint {
  double x = 0, y = 0;
};

// 640 x 360 pixels: axes with about five labelled ticks each, and the points joined in the given order.
[[nodiscard]] Image draw_chart(std::span<const ChartPoint> points);

// Positions of ticks for the range [low, high], low < high: the multiples of 1, 2 or 5 times a power of ten, as many as
// possible but at most `most`.
[[nodiscard]] std::vector<double> tick_positions(double low, double high, int most);

}  // namespace unstarve
