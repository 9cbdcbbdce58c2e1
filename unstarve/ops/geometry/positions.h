#pragma once
// Source positions of the pixels of a warped image, in 1/65536 of a pixel, computed from a Mapping in doubles. For the
// host and for GPUs; bit-equal on both if the compiler does not contract products and sums.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "unstarve/ops/base/host_device.h"
#include "unstarve/ops/geometry/sampling.h"
#include "unstarve/ops/geometry/warp.h"

namespace unstarve {

// Affine positions of a run of pixels are added up from that of the first, in 1/2^32 of a pixel, so that the end of a
// row is as exact as its start.
inline constexpr int kStepBits = 32;
// Positions further away than this are clamped to it: they are outside anyway.
inline constexpr double kFar = 2.0 * kMaxSampledSide;
// Added to make every clamped position positive, so that truncation rounds down.
inline constexpr double kPositive = 2 * kFar;

// In 1/2^32 of a pixel, modulo 2^64.
UNSTARVE_HD inline std::uint64_t to_fixed_step(double pixels) {
  return static_cast<std::uint64_t>(
      std::llround(clamped(pixels, -4 * kFar, 4 * kFar) * static_cast<double>(std::int64_t{1} << kStepBits)));
}

// The nearest position, halves up. Truncation is one instruction, std::lround() a call.
UNSTARVE_HD inline std::int32_t to_fixed_position(double pixels) {
  // NaN, on the horizon of a perspective, is outside too.
  if (!(pixels > -kFar)) pixels = -kFar;
  const double position = (clamped(pixels, -kFar, kFar) + kPositive) * (1 << kPositionBits) + 0.5;
  return static_cast<std::int32_t>(static_cast<std::int64_t>(position) -
                                   (static_cast<std::int64_t>(kPositive) << kPositionBits));
}

struct Position {
  std::int32_t x, y;
};

// The positions of `count` pixels of row `row` from column `first` on, by an affine mapping.
struct AffineRun {
  double u, v;  // of the first pixel, relative to the centre of the input's first pixel
  double du, dv;
  bool near;                                 // all within kFar: `at` and `step` are valid
  std::uint64_t at_x, at_y, step_x, step_y;  // plus half a unit, so that truncation rounds

  UNSTARVE_HD AffineRun(const Mapping& m, int first, int row, int count)
      : du(m.a), dv(m.d), at_x(0), at_y(0), step_x(0), step_y(0) {
    const double x = first + 0.5, y = row + 0.5, last = count - 1;
    u = m.a * x + m.b * y + m.c - 0.5;
    v = m.d * x + m.e * y + m.f - 0.5;
    near = std::abs(u) < kFar && std::abs(v) < kFar && std::abs(u + last * du) < kFar && std::abs(v + last * dv) < kFar;
    if (!near) return;
    constexpr std::uint64_t kHalfUnit = std::uint64_t{1} << (kStepBits - kPositionBits - 1);
    at_x = to_fixed_step(u) + kHalfUnit;
    at_y = to_fixed_step(v) + kHalfUnit;
    step_x = to_fixed_step(du);
    step_y = to_fixed_step(dv);
  }
  // The low half is the same as of an arithmetic shift, and compilers vectorise the logical one.
  [[nodiscard]] UNSTARVE_HD Position near_position(std::uint64_t i) const {
    return {static_cast<std::int32_t>((at_x + i * step_x) >> (kStepBits - kPositionBits)),
            static_cast<std::int32_t>((at_y + i * step_y) >> (kStepBits - kPositionBits))};
  }
  [[nodiscard]] UNSTARVE_HD Position far_position(std::uint64_t i) const {
    return {to_fixed_position(u + du * static_cast<double>(i)), to_fixed_position(v + dv * static_cast<double>(i))};
  }
};

UNSTARVE_HD inline Position perspective_position(const Mapping& m, int column, int row) {
  const double x = column + 0.5, y = row + 0.5;
  const double nearness = 1 / (m.g * x + m.h * y + 1);
  return {to_fixed_position((m.a * x + m.b * y + m.c) * nearness - 0.5),
          to_fixed_position((m.d * x + m.e * y + m.f) * nearness - 0.5)};
}

// The position of pixel (column, row) in an image of this width.
UNSTARVE_HD inline Position position_of(const Mapping& m, int column, int row, int width) {
  if (m.g != 0 || m.h != 0) return perspective_position(m, column, row);
  const int first = column / kPositionsRun * kPositionsRun;
  const AffineRun run(m, first, row, clamped(width - first, 0, kPositionsRun));
  const auto i = static_cast<std::uint64_t>(column - first);
  return run.near ? run.near_position(i) : run.far_position(i);
}

}  // namespace unstarve
