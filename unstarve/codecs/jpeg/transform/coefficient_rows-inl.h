// Loads blocks from the entropy decoder's layout (one after the other, in slot order) into vectors that hold the same
// row of several blocks, for the transforms. Included once per instruction set, hence Highway's include guard. Where
// HWY_TARGET is HWY_SCALAR or HWY_EMU128, only take_scalar() is available.
// Threads: pure functions, except that they modify the coefficients.
#if defined(UNSTARVE_CODECS_JPEG_COEFFICIENT_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNSTARVE_CODECS_JPEG_COEFFICIENT_ROWS_INL_H_
#undef UNSTARVE_CODECS_JPEG_COEFFICIENT_ROWS_INL_H_
#else
#define UNSTARVE_CODECS_JPEG_COEFFICIENT_ROWS_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "unstarve/codecs/jpeg/layout/coefficients.h"
#include "unstarve/codecs/jpeg/transform/dct_constants.h"
#include "unstarve/codecs/jpeg/transform/dct_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

// Copies one block in natural order and zeroes its coefficients.
HWY_INLINE void take_scalar(std::int16_t* block, std::int16_t (&natural)[64]) {
  for (std::size_t i = 0; i < 64; ++i) natural[i] = block[kSlots[i]];
  std::fill_n(block, CoefficientRow::kBlockValues, std::int16_t{0});
}

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

// The slots of kParts blocks, as loaded.
struct Slots {
  V16 of[8];
  Slots() {}  // NOLINT: GCC does not compile an implicit constructor for the instruction set (64-bit ARM)
};

// Whether values of row 0 exceed 16 bits after the shift between the passes; those of real images never do.
HWY_INLINE bool is_wild(V16 row0) {
  constexpr std::int16_t kMost = 32767 >> dct::kBetween;
  return !hn::AllFalse(D16(), hn::Or(hn::Gt(row0, hn::Set(D16(), kMost)), hn::Lt(row0, hn::Set(D16(), -kMost - 1))));
}

HWY_INLINE void clear_blocks(std::int16_t* block) {
  for (std::size_t i = 0; i < kParts * CoefficientRow::kBlockValues; i += kBytes / 2) {
    hn::Store(hn::Zero(D16()), D16(), block + i);
  }
}

static_assert(CoefficientRow::kDc == 1);

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86

static_assert(kParts == 4);

// A block is two vectors; one instruction selects any 32 of their values.
HWY_INLINE Slots load_slots(const std::int16_t* block) {
  Slots slots;
  for (std::size_t i = 0; i < 8; ++i) slots.of[i] = hn::Load(D16(), block + 32 * i);
  return slots;
}

// Whether no block has anything but DC.
HWY_INLINE bool only_dc(const Slots& slots) {
  alignas(64) static constexpr std::int16_t kDc[32] = {0, -1};
  const V16 dc = hn::Load(D16(), kDc);
  V16 others = hn::Zero(D16());
  for (std::size_t i = 0; i < 8; i += 2) {
    others = hn::Or(others, hn::AndNot(dc, slots.of[i]));
    others = hn::Or(others, slots.of[i + 1]);
  }
  return hn::AllTrue(D16(), hn::Eq(others, hn::Zero(D16())));
}

// Transposes four vectors of four parts: from one block per vector to one block per part.
HWY_INLINE void turn(const V16 (&blocks)[4], V16* parts) {
  const auto low01 = _mm512_shuffle_i32x4(blocks[0].raw, blocks[1].raw, 0x44);  // parts 0 1 of 0, of 1
  const auto low23 = _mm512_shuffle_i32x4(blocks[2].raw, blocks[3].raw, 0x44);
  const auto high01 = _mm512_shuffle_i32x4(blocks[0].raw, blocks[1].raw, 0xEE);  // parts 2 3
  const auto high23 = _mm512_shuffle_i32x4(blocks[2].raw, blocks[3].raw, 0xEE);
  parts[0] = V16{_mm512_shuffle_i32x4(low01, low23, 0x88)};
  parts[1] = V16{_mm512_shuffle_i32x4(low01, low23, 0xDD)};
  parts[2] = V16{_mm512_shuffle_i32x4(high01, high23, 0x88)};
  parts[3] = V16{_mm512_shuffle_i32x4(high01, high23, 0xDD)};
}

// v[i] = slots order[8 * i] .. order[8 * i + 7] of the blocks, one block per part.
using SlotOrder = std::array<std::int16_t, CoefficientRow::kBlockValues>;  // aligned to 64 bytes
HWY_INLINE void pick(const Slots& slots, const SlotOrder& order, V16 (&v)[8]) {
  V16 blocks[4];
  for (std::size_t half = 0; half < 2; ++half) {
    const __m512i picked = _mm512_load_si512(order.data() + 32 * half);
    for (std::size_t b = 0; b < 4; ++b) {
      blocks[b] = V16{_mm512_permutex2var_epi16(slots.of[2 * b].raw, picked, slots.of[2 * b + 1].raw)};
    }
    turn(blocks, v + 4 * half);
  }
}

// Row y of the blocks to v[y].
HWY_INLINE void rows_of(const Slots& slots, V16 (&v)[8]) {
  alignas(64) static constexpr SlotOrder kOrder = [] {
    SlotOrder order{};
    std::ranges::copy(kSlots, order.begin());
    return order;
  }();
  pick(slots, kOrder, v);
}

// Row 0 of blocks with nothing but DC.
HWY_INLINE V16 dc_row(const Slots& slots) {
  V16 v[8];
  rows_of(slots, v);
  return v[0];
}

#else

// Vector e contains slots 8 * e .. 8 * e + 7 of kParts blocks, one block per part.
template <class D>
HWY_INLINE hn::VFromD<D> load_parts(D d, const std::int16_t* block) {
  if constexpr (hn::MaxLanes(D()) == 8) {
    return hn::Load(d, block);
  } else {
    const hn::Half<D> half;
    const auto upper = load_parts(half, block + CoefficientRow::kBlockValues * (hn::MaxLanes(half) / 8));
    return hn::Combine(d, upper, load_parts(half, block));
  }
}

HWY_INLINE Slots load_slots(const std::int16_t* block) {
  Slots slots;
  for (std::size_t e = 0; e < 8; ++e) slots.of[e] = load_parts(D16(), block + 8 * e);
  return slots;
}

// Whether no block has anything but DC.
HWY_INLINE bool only_dc(const Slots& slots) {
  alignas(16) static constexpr std::int16_t kNotDc[8] = {-1, 0, -1, -1, -1, -1, -1, -1};
  V16 others = hn::And(slots.of[0], hn::LoadDup128(D16(), kNotDc));
  for (std::size_t e = 1; e < 8; ++e) others = hn::Or(others, slots.of[e]);
  return hn::AllTrue(D16(), hn::Eq(others, hn::Zero(D16())));
}

// Row 0 of blocks with nothing but DC.
HWY_INLINE V16 dc_row(const Slots& slots) { return hn::ShiftRightLanes<CoefficientRow::kDc>(D16(), slots.of[0]); }

// Row y of the blocks to v[y].
HWY_INLINE void rows_of(const Slots& slots, V16 (&v)[8]) {
  v[0] = eighth_of<kSlots, 0>(slots.of);
  v[1] = eighth_of<kSlots, 1>(slots.of);
  v[2] = eighth_of<kSlots, 2>(slots.of);
  v[3] = eighth_of<kSlots, 3>(slots.of);
  v[4] = eighth_of<kSlots, 4>(slots.of);
  v[5] = eighth_of<kSlots, 5>(slots.of);
  v[6] = eighth_of<kSlots, 6>(slots.of);
  v[7] = eighth_of<kSlots, 7>(slots.of);
}

#endif

#endif

}  // namespace
}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
