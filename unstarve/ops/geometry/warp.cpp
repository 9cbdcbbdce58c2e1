#include "unstarve/ops/geometry/warp.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/ops/base/paint.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/base/recorder.h"
#include "unstarve/ops/base/window.h"
#include "unstarve/ops/geometry/perspective_positions.h"
#include "unstarve/ops/geometry/positions.h"

namespace unstarve {
namespace {

constexpr std::size_t kRun = kPositionsRun;

double radians(double degrees) { return degrees * std::numbers::pi / 180; }

// (x, y) to (xx x + xy y, yx x + yy y).
struct Linear {
  double xx, xy, yx, yy;

  [[nodiscard]] Linear operator*(const Linear& o) const {
    return {xx * o.xx + xy * o.yx, xx * o.xy + xy * o.yy, yx * o.xx + yy * o.yx, yx * o.xy + yy * o.yy};
  }
  [[nodiscard]] Linear inverse() const {
    const double determinant = xx * yy - xy * yx;
    return {yy / determinant, -xy / determinant, -yx / determinant, xx / determinant};
  }
};

void affine_positions(const Mapping& m, int first, int row, std::size_t count, Positions& positions) {
  const AffineRun run(m, first, row, static_cast<int>(count));
  for (std::size_t i = 0; run.near && i < count; ++i) {
    positions.x[i] = run.near_position(i).x;
    positions.y[i] = run.near_position(i).y;
  }
  for (std::size_t i = 0; !run.near && i < count; ++i) {
    positions.x[i] = run.far_position(i).x;
    positions.y[i] = run.far_position(i).y;
  }
}

}  // namespace

Mapping affine_mapping(Size size, const AffineTransform& transform) {
  // The inverse of: shear in x, shear in y, rotate, scale, all about the centre, then translate.
  const double turn = radians(transform.degrees), scale = transform.scale;
  const Linear there =
      Linear{scale, 0, 0, scale} * Linear{std::cos(turn), -std::sin(turn), std::sin(turn), std::cos(turn)} *
      Linear{1, 0, -std::tan(radians(transform.shear_y)), 1} * Linear{1, -std::tan(radians(transform.shear_x)), 0, 1};
  const Linear back = there.inverse();
  const double middle_x = size.width * 0.5, middle_y = size.height * 0.5;
  const double to_x = middle_x + transform.move_x, to_y = middle_y + transform.move_y;
  return {back.xx, back.xy, middle_x - back.xx * to_x - back.xy * to_y,
          back.yx, back.yy, middle_y - back.yx * to_x - back.yy * to_y,
          0,       0};
}

Mapping perspective_mapping(const std::array<std::array<double, 2>, 4>& from,
                            const std::array<std::array<double, 2>, 4>& to) {
  // Eight equations in eight unknowns, by Gaussian elimination with pivots.
  double rows[8][9] = {};
  for (std::size_t i = 0; i < 4; ++i) {
    const double x = to[i][0], y = to[i][1], u = from[i][0], v = from[i][1];
    const double first[9] = {x, y, 1, 0, 0, 0, -u * x, -u * y, u};
    const double second[9] = {0, 0, 0, x, y, 1, -v * x, -v * y, v};
    std::copy_n(first, 9, rows[2 * i]);
    std::copy_n(second, 9, rows[2 * i + 1]);
  }
  for (std::size_t k = 0; k < 8; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < 8; ++i) {
      if (std::abs(rows[i][k]) > std::abs(rows[pivot][k])) pivot = i;
    }
    std::swap(rows[k], rows[pivot]);
    for (std::size_t i = 0; i < 8; ++i) {
      if (i == k) continue;
      const double times = rows[i][k] / rows[k][k];
      for (std::size_t j = k; j < 9; ++j) rows[i][j] -= times * rows[k][j];
    }
  }
  const auto solved = [&](std::size_t k) { return rows[k][8] / rows[k][k]; };
  return {solved(0), solved(1), solved(2), solved(3), solved(4), solved(5), solved(6), solved(7)};
}

void warp(Frame& frame, const Mapping& mapping, const Warping& warping, Scratch& scratch) {
  if (frame.width > kMaxSampledSide || frame.height > kMaxSampledSide) {
    throw input_error("warp an image: {}x{} pixels; expected sides up to {}. Resize it first.", frame.width,
                      frame.height, kMaxSampledSide);
  }
  if (Recorder* recorder = scratch.recorder()) return recorder->warp(frame, mapping, warping);
  const Image& in = make_pixels(frame, scratch);
  Image& out = scratch.other_than(frame);
  out.resize(frame.size());
  const bool affine = mapping.g == 0 && mapping.h == 0;
  Positions positions;
  const auto width = static_cast<std::size_t>(frame.width);
  for (int y = 0; y < frame.height; ++y) {
    for (std::size_t x = 0; x < width; x += kRun) {
      const std::size_t count = std::min(kRun, width - x);
      if (affine) {
        affine_positions(mapping, static_cast<int>(x), y, count, positions);
      } else {
        perspective_positions(mapping, static_cast<int>(x), y, count, positions);
      }
      sample_positions(in, positions, count, warping, out.row(y) + x * kChannels);
    }
  }
  frame = Frame(out.view());
}

Warping read_warping(const Parameters& parameters, Interpolation fallback) {
  // In the order of Interpolation.
  const auto chosen = parameters.choice("interpolation", static_cast<std::size_t>(fallback), {"nearest", "bilinear"});
  return {static_cast<Interpolation>(chosen), read_fill(parameters)};
}

}  // namespace unstarve
