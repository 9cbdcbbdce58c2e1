#include "unstarve/ops/policy/mix_images.h"

#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/ops/policy/mix_images.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void add_weighted_on_target(const std::uint8_t* values, std::uint32_t weight, bool first, std::size_t count,
                            std::uint32_t* sums) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  const hn::ScalableTag<std::uint32_t> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const auto weights = hn::Set(d, weight);
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto product = hn::Mul(hn::PromoteTo(d, hn::LoadU(d8, values + i)), weights);
    hn::StoreU(first ? product : hn::Add(product, hn::LoadU(d, sums + i)), d, sums + i);
  }
#endif
  for (; i < count; ++i) sums[i] = (first ? 0 : sums[i]) + weight * values[i];
}

void take_sums_on_target(const std::uint32_t* sums, std::size_t count, std::uint8_t* values) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  const hn::ScalableTag<std::int32_t> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const auto* const from = reinterpret_cast<const std::int32_t*>(sums);  // below 2^24
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d))
    hn::StoreU(hn::DemoteTo(d8, hn::ShiftRight<kMixBits>(hn::LoadU(d, from + i))), d8, values + i);
#endif
  for (; i < count; ++i) values[i] = static_cast<std::uint8_t>(sums[i] >> kMixBits);
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {

HWY_EXPORT(add_weighted_on_target);
HWY_EXPORT(take_sums_on_target);

void add_weighted(const std::uint8_t* values, std::uint32_t weight, bool first, std::size_t count,
                  std::uint32_t* sums) {
  HWY_DYNAMIC_DISPATCH(add_weighted_on_target)(values, weight, first, count, sums);
}

void take_sums(const std::uint32_t* sums, std::size_t count, std::uint8_t* values) {
  HWY_DYNAMIC_DISPATCH(take_sums_on_target)(sums, count, values);
}

}  // namespace unstarve
#endif
