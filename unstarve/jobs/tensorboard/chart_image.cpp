#include "unstarve/jobs/tensorboard/chart_image.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace unstarve {
namespace {

constexpr Size kChart{640, 360};
constexpr int kLeft = 60, kRight = 16, kTop = 12, kBottom = 28;
constexpr int kGlyphWidth = 5, kGlyphHeight = 7, kGlyphAdvance = 6;
constexpr Rgb kBackground{255, 255, 255}, kGrid{226, 226, 226}, kAxis{90, 90, 90}, kLine{31, 99, 189};

// 5 x 7 pixels of each character: rows from the top, the highest of five bits on the left.
struct Glyph {
  char character;
  std::array<std::uint8_t, kGlyphHeight> rows;
};
constexpr std::array<Glyph, 14> kGlyphs{{
    {'0', {14, 17, 19, 21, 25, 17, 14}},
    {'1', {4, 12, 4, 4, 4, 4, 14}},
    {'2', {14, 17, 1, 2, 4, 8, 31}},
    {'3', {31, 2, 4, 2, 1, 17, 14}},
    {'4', {2, 6, 10, 18, 31, 2, 2}},
    {'5', {31, 16, 30, 1, 1, 17, 14}},
    {'6', {6, 8, 16, 30, 17, 17, 14}},
    {'7', {31, 1, 2, 4, 8, 8, 8}},
    {'8', {14, 17, 17, 14, 17, 17, 14}},
    {'9', {14, 17, 17, 15, 1, 2, 12}},
    {'.', {0, 0, 0, 0, 0, 12, 12}},
    {'-', {0, 0, 0, 31, 0, 0, 0}},
    {'+', {0, 4, 4, 31, 4, 4, 0}},
    {'e', {0, 0, 14, 17, 31, 16, 14}},
}};

class Canvas {
 public:
  Canvas() : image_(kChart) {
    for (int y = 0; y < kChart.height; ++y)
      for (int x = 0; x < kChart.width; ++x) set(x, y, kBackground);
  }

  void set(int x, int y, const Rgb& colour) {
    if (x < 0 || y < 0 || x >= kChart.width || y >= kChart.height) return;
    std::memcpy(image_.row(y) + x * kChannels, colour.data(), kChannels);
  }

  // Two pixels wide.
  void line(double x0, double y0, double x1, double y1, const Rgb& colour) {
    const int steps = std::max(1, static_cast<int>(std::ceil(std::max(std::abs(x1 - x0), std::abs(y1 - y0)))));
    for (int i = 0; i <= steps; ++i) {
      const double share = static_cast<double>(i) / steps;
      const int x = static_cast<int>(std::lround(x0 + share * (x1 - x0)));
      const int y = static_cast<int>(std::lround(y0 + share * (y1 - y0)));
      for (const auto& [dx, dy] : {std::pair(0, 0), {1, 0}, {0, 1}}) set(x + dx, y + dy, colour);
    }
  }

  void text(int x, int y, std::string_view characters) {
    for (const char character : characters) {
      const auto* const glyph = std::ranges::find(kGlyphs, character, &Glyph::character);
      if (glyph != kGlyphs.end()) draw(*glyph, x, y);
      x += kGlyphAdvance;
    }
  }

  [[nodiscard]] Image take() { return std::move(image_); }

 private:
  void draw(const Glyph& glyph, int left, int top) {
    for (int row = 0; row < kGlyphHeight; ++row)
      for (int column = 0; column < kGlyphWidth; ++column)
        if ((glyph.rows[static_cast<std::size_t>(row)] >> (kGlyphWidth - 1 - column) & 1) != 0)
          set(left + column, top + row, kAxis);
  }

  Image image_;
};

// The range of an axis, not empty.
struct Range {
  double low = 0, high = 1;
  [[nodiscard]] double share(double value) const { return (value - low) / (high - low); }
};

Range range_of(std::span<const ChartPoint> points, double ChartPoint::*value) {
  if (points.empty()) return {};
  const auto [low, high] = std::minmax_element(
      points.begin(), points.end(), [&](const ChartPoint& a, const ChartPoint& b) { return a.*value < b.*value; });
  Range range{*low.*value, *high.*value};
  if (range.low == range.high) {
    const double margin = range.low == 0 ? 1 : 0.05 * std::abs(range.low);
    range = {range.low - margin, range.high + margin};
  }
  return range;
}

double x_at(double share) { return kLeft + share * (kChart.width - kLeft - kRight); }
double y_at(double share) { return kChart.height - kBottom - share * (kChart.height - kTop - kBottom); }

}  // namespace

std::vector<double> tick_positions(double low, double high, int most) {
  const double power = std::pow(10, std::floor(std::log10((high - low) / most)));
  double step = power;
  const auto count = [&] { return std::floor(high / step + 1e-9) - std::ceil(low / step - 1e-9) + 1; };
  for (const double factor : {1.0, 2.0, 5.0, 10.0, 20.0}) {
    step = factor * power;
    if (count() <= most) break;
  }
  std::vector<double> ticks;
  const double first = std::ceil(low / step - 1e-9);
  for (double i = 0; i < count(); ++i) ticks.push_back((first + i) * step);
  return ticks;
}

Image draw_chart(std::span<const ChartPoint> points) {
  std::vector<ChartPoint> kept;
  std::copy_if(points.begin(), points.end(), std::back_inserter(kept),
               [](const ChartPoint& point) { return std::isfinite(point.x) && std::isfinite(point.y); });
  const Range xs = range_of(kept, &ChartPoint::x), ys = range_of(kept, &ChartPoint::y);

  Canvas canvas;
  constexpr int kTicks = 6;
  for (const double tick : tick_positions(ys.low, ys.high, kTicks)) {
    const double y = y_at(ys.share(tick));
    canvas.line(x_at(0), y, x_at(1), y, kGrid);
    const std::string label = fmt::format("{:.4g}", tick);
    canvas.text(kLeft - 8 - kGlyphAdvance * static_cast<int>(label.size()), static_cast<int>(y) - kGlyphHeight / 2,
                label);
  }
  for (const double tick : tick_positions(xs.low, xs.high, kTicks)) {
    const double x = x_at(xs.share(tick));
    canvas.line(x, y_at(0), x, y_at(1), kGrid);
    const std::string label = fmt::format("{:.4g}", tick);
    canvas.text(static_cast<int>(x) - kGlyphAdvance * static_cast<int>(label.size()) / 2, kChart.height - kBottom + 10,
                label);
  }
  canvas.line(x_at(0), y_at(0), x_at(1), y_at(0), kAxis);
  canvas.line(x_at(0), y_at(0), x_at(0), y_at(1), kAxis);
  for (std::size_t i = 1; i < kept.size(); ++i)
    canvas.line(x_at(xs.share(kept[i - 1].x)), y_at(ys.share(kept[i - 1].y)), x_at(xs.share(kept[i].x)),
                y_at(ys.share(kept[i].y)), kLine);
  return canvas.take();
}

}  // namespace unstarve
