#include "unstarve/ops/resize/triangle_weights.h"

#include <algorithm>

#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/ops/resize/triangle_weights.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<double, kTriangleSlack>;
using D32 = hn::Rebind<std::int32_t, D>;

}  // namespace

double weights_on_target(const TriangleTables& t, std::size_t outputs, double stretch) {
  const D d;
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0), half = hn::Set(d, 0.5), inverse = hn::Set(d, 1.0 / stretch);
  auto largest = zero;
  for (std::size_t i = 0; i < outputs; i += hn::Lanes(d)) {
    const auto centre = hn::LoadU(d, t.centres + i), end = hn::LoadU(d, t.ends + i);
    auto x = hn::LoadU(d, t.begins + i), sum = zero, count = zero, counted = zero;
    for (std::size_t k = 0; k < t.taps; ++k) {
      const auto distance = hn::Mul(hn::Add(hn::Sub(x, centre), half), inverse);
      const auto height = hn::Max(zero, hn::Sub(one, hn::Abs(distance)));
      const auto weight = hn::IfThenElseZero(hn::Lt(x, end), height);
      hn::StoreU(weight, d, t.weights + k * t.pitch + i);
      sum = hn::Add(sum, weight);
      x = hn::Add(x, one);
      counted = hn::Add(counted, one);
      count = hn::IfThenElse(hn::Gt(weight, zero), counted, count);
    }
    hn::StoreU(count, d, t.counts + i);
    const auto inverse_sum = hn::Div(one, sum);
    for (std::size_t k = 0; k < t.taps; ++k) {
      double* const at = t.weights + k * t.pitch + i;
      const auto weight = hn::Mul(hn::LoadU(d, at), inverse_sum);
      hn::StoreU(weight, d, at);
      largest = hn::Max(largest, weight);
    }
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

void round_on_target(const TriangleTables& t, std::size_t from, std::size_t to, const RoundedWeights& fixed) {
  const D d;
  const auto scale = hn::Set(d, fixed.one), half = hn::Set(d, 0.5);
  HWY_ALIGN std::int32_t rounded[kTriangleSlack];
  for (std::size_t i = from; i < to; i += hn::Lanes(d)) {
    const std::size_t count = std::min(hn::Lanes(d), to - i);
    std::int16_t* const first = fixed.out + (i - from) * fixed.pitch;
    for (std::size_t k = 0; k < fixed.longest; ++k) {
      // Exact: multiplication by a power of two.
      const auto scaled = hn::Mul(hn::LoadU(d, t.weights + k * t.pitch + i), scale);
      hn::Store(hn::DemoteTo(D32(), hn::Add(scaled, half)), D32(), rounded);
      for (std::size_t lane = 0; lane < count; ++lane)
        first[lane * fixed.pitch + k] = static_cast<std::int16_t>(rounded[lane]);
    }
  }
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {

HWY_EXPORT(weights_on_target);
HWY_EXPORT(round_on_target);

double make_triangle_weights(const TriangleTables& t, int input, std::size_t outputs, double scale, double stretch) {
  for (std::size_t i = 0; i < outputs; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    t.centres[i] = centre;
    t.begins[i] = std::max(0, static_cast<int>(centre - stretch + 0.5));
    t.ends[i] = std::min(input, static_cast<int>(centre + stretch + 0.5));
  }
  // Vectors read and write beyond the last sample.
  for (double* table : {t.centres, t.begins, t.ends}) std::fill_n(table + outputs, kTriangleSlack, table[outputs - 1]);
  return HWY_DYNAMIC_DISPATCH(weights_on_target)(t, outputs, stretch);
}

void round_triangle_weights(const TriangleTables& t, std::size_t from, std::size_t to, const RoundedWeights& fixed) {
  HWY_DYNAMIC_DISPATCH(round_on_target)(t, from, to, fixed);
}

}  // namespace unstarve
#endif
