#include "unstarve/ops/geometry/perspective_positions.h"

#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/ops/geometry/perspective_positions.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

#include "unstarve/ops/geometry/positions.h"

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

#if HWY_HAVE_FLOAT64 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<double, 8>;
using DI = hn::Rebind<std::int32_t, DF>;
using VF = hn::VFromD<DF>;

// As to_fixed_position(): the same sums and products in the same order; the final subtraction is exact in doubles.
HWY_INLINE hn::VFromD<DI> to_fixed_positions(VF pixels) {
  const DF d;
  const VF low = hn::Set(d, -kFar);
  // A comparison with NaN is false.
  const VF within = hn::Min(hn::IfThenElse(hn::Gt(pixels, low), pixels, low), hn::Set(d, kFar));
  const VF positions =
      hn::Add(hn::Mul(hn::Add(within, hn::Set(d, kPositive)), hn::Set(d, 1 << kPositionBits)), hn::Set(d, 0.5));
  return hn::DemoteTo(DI(), hn::Sub(hn::Floor(positions), hn::Set(d, kPositive * (1 << kPositionBits))));
}

std::size_t vectors(const Mapping& m, int first, int row, std::size_t count, Positions& to) {
  const DF d;
  constexpr std::size_t kLanes = hn::MaxLanes(DF());
  const VF half = hn::Set(d, 0.5), one = hn::Set(d, 1), y = hn::Set(d, row + 0.5);
  // Products of the row, which every pixel adds.
  const VF by = hn::Mul(hn::Set(d, m.b), y), ey = hn::Mul(hn::Set(d, m.e), y), hy = hn::Mul(hn::Set(d, m.h), y);
  const std::size_t end = count - count % kLanes;
  for (std::size_t i = 0; i < end; i += kLanes) {
    const VF x = hn::Add(hn::Iota(d, static_cast<double>(first) + static_cast<double>(i)), half);
    const auto sum = [&](double of_x, VF of_y, VF rest)
                         HWY_ATTR { return hn::Add(hn::Add(hn::Mul(hn::Set(d, of_x), x), of_y), rest); };
    const VF nearness = hn::Div(one, sum(m.g, hy, one));
    const VF u = hn::Sub(hn::Mul(sum(m.a, by, hn::Set(d, m.c)), nearness), half);
    const VF v = hn::Sub(hn::Mul(sum(m.d, ey, hn::Set(d, m.f)), nearness), half);
    hn::StoreU(to_fixed_positions(u), DI(), to.x + i);
    hn::StoreU(to_fixed_positions(v), DI(), to.y + i);
  }
  return end;
}

#else

std::size_t vectors(const Mapping&, int, int, std::size_t, Positions&) { return 0; }

#endif

}  // namespace

void perspective_positions_on_target(const Mapping& m, int first, int row, std::size_t count, Positions& to) {
  for (std::size_t i = vectors(m, first, row, count, to); i < count; ++i) {
    const Position position = perspective_position(m, first + static_cast<int>(i), row);
    to.x[i] = position.x;
    to.y[i] = position.y;
  }
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {

HWY_EXPORT(perspective_positions_on_target);

void perspective_positions(const Mapping& mapping, int first, int row, std::size_t count, Positions& to) {
  HWY_DYNAMIC_DISPATCH(perspective_positions_on_target)(mapping, first, row, count, to);
}

}  // namespace unstarve
#endif
