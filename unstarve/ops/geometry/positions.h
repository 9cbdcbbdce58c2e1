#pragma once
// Where each pixel of a warped image comes from: from a Mapping, in doubles, to places in 1/65536 of a pixel. For the
// host and for GPUs; exact to the bit in both, where the compiler does not contract products and sums.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "unstarve/ops/base/host_device.h"
#include "unstarve/ops/geometry/sampling.h"
#include "unstarve/ops/geometry/warp.h"

namespace unstarve {

// Pixels of a row whose places are added up from the first one's.
inline constexpr int kPlacesRun = 1024;
// Places of an affine mapping are added up in 1/2^32 of a pixel, so that a row's end is as exact as its beginning.
inline constexpr int kStepBits = 32;
// Any place further away than this is as good as this: outside.
inline constexpr double kFar = 2.0 * kMaxSampledSide;
// Makes any place up to there positive, which turns cutting off into rounding down.
inline constexpr double kPositive = 2 * kFar;

// In 1/2^32 of a pixel, modulo 2^64.
UNSTARVE_HD inline std::uint64_t in_steps(double pixels) {
  return static_cast<std::uint64_t>(
      std::llround(clamped(pixels, -4 * kFar, 4 * kFar) * static_cast<double>(std::int64_t{1} << kStepBits)));
}

// The nearest place, halves up. Cutting off takes one instruction where std::lround() is a call.
UNSTARVE_HD inline std::int32_t in_places(double pixels) {
  // Not a number, where a perspective has its horizon, is outside too.
  if (!(pixels > -kFar)) pixels = -kFar;
  const double places = (clamped(pixels, -kFar, kFar) + kPositive) * (1 << kPlaceBits) + 0.5;
  return static_cast<std::int32_t>(static_cast<std::int64_t>(places) -
                                   (static_cast<std::int64_t>(kPositive) << kPlaceBits));
}

struct Place {
  std::int32_t x, y;
};

// A run of `count` pixels of row `row` from column `first` on, by an affine mapping.
struct AffineRun {
  double u, v;  // of the first, from the middle of the input's first pixel
  double du, dv;
  bool near;                                 // all within kFar: `at` and `step` say where
  std::uint64_t at_x, at_y, step_x, step_y;  // half a place more than it is, so that cutting off rounds

  UNSTARVE_HD AffineRun(const Mapping& m, int first, int row, int count)
      : du(m.a), dv(m.d), at_x(0), at_y(0), step_x(0), step_y(0) {
    const double x = first + 0.5, y = row + 0.5, last = count - 1;
    u = m.a * x + m.b * y + m.c - 0.5;
    v = m.d * x + m.e * y + m.f - 0.5;
    near = std::abs(u) < kFar && std::abs(v) < kFar && std::abs(u + last * du) < kFar && std::abs(v + last * dv) < kFar;
    if (!near) return;
    constexpr std::uint64_t kHalfPlace = std::uint64_t{1} << (kStepBits - kPlaceBits - 1);
    at_x = in_steps(u) + kHalfPlace;
    at_y = in_steps(v) + kHalfPlace;
    step_x = in_steps(du);
    step_y = in_steps(dv);
  }
  // The low half of a logical shift is that of an arithmetic one, and compilers have it in vectors.
  [[nodiscard]] UNSTARVE_HD Place near_place(std::uint64_t i) const {
    return {static_cast<std::int32_t>((at_x + i * step_x) >> (kStepBits - kPlaceBits)),
            static_cast<std::int32_t>((at_y + i * step_y) >> (kStepBits - kPlaceBits))};
  }
  [[nodiscard]] UNSTARVE_HD Place far_place(std::uint64_t i) const {
    return {in_places(u + du * static_cast<double>(i)), in_places(v + dv * static_cast<double>(i))};
  }
};

UNSTARVE_HD inline Place perspective_place(const Mapping& m, int column, int row) {
  const double x = column + 0.5, y = row + 0.5;
  const double nearness = 1 / (m.g * x + m.h * y + 1);
  return {in_places((m.a * x + m.b * y + m.c) * nearness - 0.5), in_places((m.d * x + m.e * y + m.f) * nearness - 0.5)};
}

// Of pixel (column, row) of an image that is `width` wide.
UNSTARVE_HD inline Place place_of(const Mapping& m, int column, int row, int width) {
  if (m.g != 0 || m.h != 0) return perspective_place(m, column, row);
  const int first = column / kPlacesRun * kPlacesRun;
  const AffineRun run(m, first, row, clamped(width - first, 0, kPlacesRun));
  const auto i = static_cast<std::uint64_t>(column - first);
  return run.near ? run.near_place(i) : run.far_place(i);
}

}  // namespace unstarve
