#include "unstarve/codecs/jpeg/transform/idct.h"

#include <algorithm>

#include "unstarve/codecs/jpeg/transform/dct_constants.h"
#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/codecs/jpeg/transform/idct.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

#include "unstarve/codecs/jpeg/transform/coefficient_rows-inl.h"
#include "unstarve/codecs/jpeg/transform/dct_vectors-inl.h"
#include "unstarve/core/simd_bytes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

// `count` blocks by the reference.
HWY_NOINLINE void plain_blocks(std::int16_t* block, std::size_t blocks, const std::int16_t* quantisation,
                               std::uint8_t* out, std::ptrdiff_t stride) {
  for (; blocks > 0; --blocks, block += CoefficientRow::kBlockValues, out += 8) {
    std::int16_t coefficients[64];
    take_scalar(block, coefficients);
    inverse_dct_reference(coefficients, quantisation, out, stride);
  }
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

// Machines without SSE4.
void run(CoefficientRow& row, const std::int16_t* quantisation, std::uint8_t* out, std::ptrdiff_t stride) {
  plain_blocks(row.block(0), row.blocks(), quantisation, out, stride);
}

#else

namespace hn = hwy::HWY_NAMESPACE;

using D8 = hn::FixedTag<std::uint8_t, kBytes / 2>;
using D8Whole = hn::FixedTag<std::uint8_t, kBytes>;

// The terms of the one-dimensional transform across eight vectors: the even half's two ends, which include the rounding
// of all outputs, and pairs of inputs. z34: v[7] + v[3] and v[5] + v[1].
struct Terms {
  Wide even0;
  Wide even1;
  Pair z26;
  Pair z34;
  Pair z71;
  Pair z35;
};

template <int kDown>
HWY_INLINE Terms terms_of(const V16 (&v)[8]) {
  const Pair z04(hn::Add(v[0], v[4]), hn::Sub(v[0], v[4]));
  return {z04.times<1 << dct::kBits, 0>(half<kDown>()),
          z04.times<0, 1 << dct::kBits>(half<kDown>()),
          Pair(v[2], v[6]),
          Pair(hn::Add(v[7], v[3]), hn::Add(v[5], v[1])),
          Pair(v[7], v[1]),
          Pair(v[3], v[5])};
}

template <int kDown>
HWY_INLINE void transform(const Terms& terms, V16 (&v)[8]) {
  using namespace dct;  // NOLINT: its constants
  const Wide even2 = terms.z26.times<k0_541, k0_541 - k1_847>();
  const Wide even3 = terms.z26.times<k0_541 + k0_765, k0_541>();
  const Wide t10 = terms.even0 + even3;
  const Wide t13 = terms.even0 - even3;
  const Wide t11 = terms.even1 + even2;
  const Wide t12 = terms.even1 - even2;

  const Wide z3 = terms.z34.times<k1_175 - k1_961, k1_175>();
  const Wide z4 = terms.z34.times<k1_175, k1_175 - k0_390>();
  const Wide odd0 = terms.z71.times<k0_298 - k0_899, -k0_899>(z3);
  const Wide odd3 = terms.z71.times<-k0_899, k1_501 - k0_899>(z4);
  const Wide odd1 = terms.z35.times<-k2_562, k2_053 - k2_562>(z4);
  const Wide odd2 = terms.z35.times<k3_072 - k2_562, -k2_562>(z3);

  v[0] = narrowed<kDown>(t10 + odd3);
  v[7] = narrowed<kDown>(t10 - odd3);
  v[1] = narrowed<kDown>(t11 + odd2);
  v[6] = narrowed<kDown>(t11 - odd2);
  v[2] = narrowed<kDown>(t12 + odd1);
  v[5] = narrowed<kDown>(t12 - odd1);
  v[3] = narrowed<kDown>(t13 + odd0);
  v[4] = narrowed<kDown>(t13 - odd0);
}

// The first pass's terms, dequantised.
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86

// Loads two rows interleaved, as pairs need them.
class FirstPass {
 public:
  explicit FirstPass(const std::int16_t* quantisation) {
    const auto row = [&](std::size_t y) HWY_ATTR { return hn::LoadDup128(D16(), quantisation + 8 * y); };
    for (std::size_t i = 0; i < 4; ++i) {
      factors_[2 * i] = hn::InterleaveLower(D16(), row(kRows[i][0]), row(kRows[i][1]));
      factors_[2 * i + 1] = hn::InterleaveUpper(D16(), row(kRows[i][0]), row(kRows[i][1]));
    }
  }

  // False for values that no image has: in row 0, see is_wild(); in row 4, whose sums with row 0 wrap.
  HWY_INLINE bool load(const Slots& slots) {
    pick(slots, kOrder, pairs_);
    for (std::size_t i = 0; i < 8; ++i) pairs_[i] = hn::Mul(pairs_[i], factors_[i]);
    return !is_wild(pairs_[6]) && !is_wild(pairs_[7]);
  }
  template <int kDown>
  [[nodiscard]] HWY_INLINE Terms terms() const {
    const Pair z04 = pair(3);
    constexpr int kOne = 1 << dct::kBits;
    return {z04.times<kOne, kOne>(half<kDown>()),
            z04.times<kOne, -kOne>(half<kDown>()),
            pair(0),
            Pair::interleaved(hn::Add(pairs_[2], pairs_[4]), hn::Add(pairs_[3], pairs_[5])),
            pair(1),
            pair(2)};
  }

 private:
  static constexpr std::size_t kRows[4][2] = {{2, 6}, {7, 1}, {3, 5}, {0, 4}};
  alignas(64) static constexpr SlotOrder kOrder = [] {
    SlotOrder order{};
    for (std::size_t i = 0; i < 64; ++i) order[i] = kSlots[8 * kRows[i / 16][i % 2] + i % 16 / 2];
    return order;
  }();

  [[nodiscard]] HWY_INLINE Pair pair(std::size_t i) const {
    return Pair::interleaved(pairs_[2 * i], pairs_[2 * i + 1]);
  }

  V16 factors_[8];
  V16 pairs_[8];
};

#else

class FirstPass {
 public:
  explicit FirstPass(const std::int16_t* quantisation) {
    for (std::size_t y = 0; y < 8; ++y) factors_[y] = hn::LoadDup128(D16(), quantisation + 8 * y);
  }

  // False for values that no image has.
  HWY_INLINE bool load(const Slots& slots) {
    rows_of(slots, rows_);
    for (std::size_t y = 0; y < 8; ++y) rows_[y] = hn::Mul(rows_[y], factors_[y]);
    return !is_wild(rows_[0]);
  }
  template <int kDown>
  [[nodiscard]] HWY_INLINE Terms terms() const {
    return terms_of<kDown>(rows_);
  }

 private:
  V16 factors_[8];
  V16 rows_[8];
};

#endif

HWY_INLINE void store_samples(V16 v, std::uint8_t* out) {
  const V16 centred = hn::SaturatedAdd(v, hn::Set(D16(), 128));
  hn::StoreU(hn::DemoteTo(D8(), centred), D8(), out);
}

// Two rows of samples minus 128, one after the other in each part.
HWY_INLINE void store_two_rows(V16 rows, std::uint8_t* out, std::ptrdiff_t stride) {
  auto samples = hn::Xor(hn::BitCast(D8Whole(), rows), hn::Set(D8Whole(), 0x80));
  if constexpr (kParts > 1) {
    alignas(64) static constexpr std::int64_t kOrder[8] = {0, 2, kParts == 4 ? 4 : 1, kParts == 4 ? 6 : 3, 1, 3, 5, 7};
    const auto order = hn::SetTableIndices(D64(), kOrder);
    samples = hn::BitCast(D8Whole(), hn::TableLookupLanes(hn::BitCast(D64(), samples), order));
  }
  hn::StoreU(hn::LowerHalf(D8(), samples), D8(), out);
  hn::StoreU(hn::UpperHalf(D8(), samples), D8(), out + stride);
}

// Transposes columns to rows of samples, as bytes: half the work of 16-bit values.
HWY_INLINE void store_columns(const V16 (&v)[8], std::uint8_t* out, std::ptrdiff_t stride) {
  V16 c[4];  // columns i and i + 4 in each part
  const hn::FixedTag<std::int8_t, kBytes> d;
  for (std::size_t i = 0; i < 4; ++i) c[i] = hn::BitCast(D16(), to_bytes(d, v[i], v[i + 4]));
  interleave(D8Whole(), c[0], c[1]);  // columns 0 1, 4 5
  interleave(D8Whole(), c[2], c[3]);  // 2 3, 6 7
  interleave(D16(), c[0], c[2]);      // 0 1 2 3 of the upper rows, then of the lower rows
  interleave(D16(), c[1], c[3]);      // 4 5 6 7
  interleave(D32(), c[0], c[1]);
  interleave(D32(), c[2], c[3]);
  for (std::ptrdiff_t i = 0; i < 4; ++i) store_two_rows(c[i], out + 2 * i * stride, stride);
}

// Blocks with only DC: all samples are equal.
HWY_INLINE void flat_blocks(V16 row0, std::uint8_t* out, std::ptrdiff_t stride) {
  const V16 dc = hn::ShiftLeft<dct::kBetween>(row0);
  // Broadcasts the first value of each part, then applies the second pass, which has only the DC term.
  alignas(16) static constexpr std::uint8_t kFirst[16] = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  const hn::FixedTag<std::uint8_t, kBytes> bytes;
  const V16 all = hn::BitCast(D16(), hn::TableLookupBytes(hn::BitCast(bytes, dc), hn::LoadDup128(bytes, kFirst)));
  const V16 sample = descaled<dct::kBits + dct::kBetween + 3>(shifted<dct::kBits>(all));
  for (std::ptrdiff_t y = 0; y < 8; ++y) store_samples(sample, out + y * stride);
}

void run(CoefficientRow& row, const std::int16_t* quantisation, std::uint8_t* out, std::ptrdiff_t stride) {
  constexpr int kFirstDown = dct::kBits - dct::kBetween, kSecondDown = dct::kBits + dct::kBetween + 3;
  FirstPass first_pass(quantisation);
  const V16 row0_factor = hn::LoadDup128(D16(), quantisation);
  for (std::size_t first = 0; first < row.blocks(); first += kParts, out += 8 * kParts) {
    std::int16_t* const block = row.block(first);
    const Slots slots = load_slots(block);
    const bool flat = only_dc(slots);
    V16 dc = hn::Zero(D16());
    if (flat) dc = hn::Mul(dc_row(slots), row0_factor);
    if (HWY_UNLIKELY(flat ? is_wild(dc) : !first_pass.load(slots))) {
      plain_blocks(block, kParts, quantisation, out, stride);
      continue;
    }
    clear_blocks(block);
    if (flat) {
      flat_blocks(dc, out, stride);
      continue;
    }
    V16 v[8];
    transform<kFirstDown>(first_pass.terms<kFirstDown>(), v);
    transpose(v);
    transform<kSecondDown>(terms_of<kSecondDown>(v), v);
    store_columns(v, out, stride);
  }
}

#endif

}  // namespace

void inverse_dct_on_target(CoefficientRow& row, const std::int16_t* quantisation, std::uint8_t* out,
                           std::ptrdiff_t stride) {
  run(row, quantisation, out, stride);
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {
namespace {

HWY_EXPORT(inverse_dct_on_target);

std::int16_t wrapped(int value) { return static_cast<std::int16_t>(static_cast<std::uint16_t>(value)); }

std::int16_t descaled(std::uint32_t value, int down) {
  const int shifted = static_cast<std::int32_t>(value + (1u << (down - 1))) >> down;
  return static_cast<std::int16_t>(std::clamp(shifted, -32768, 32767));
}

// The transform of eight values `step` apart. Unsigned, so that sums of wild values wrap as in vector registers.
void transform(std::int16_t* v, std::ptrdiff_t step, int down) {
  using namespace dct;  // NOLINT: its constants
  const auto in = [&](int i) { return static_cast<int>(v[i * step]); };
  const auto times = [](int a, int x, int b, int y) {
    return static_cast<std::uint32_t>(a * x) + static_cast<std::uint32_t>(b * y);
  };
  const std::uint32_t even2 = times(in(2), k0_541, in(6), k0_541 - k1_847);
  const std::uint32_t even3 = times(in(2), k0_541 + k0_765, in(6), k0_541);
  const auto even0 = static_cast<std::uint32_t>(wrapped(in(0) + in(4)) * (1 << kBits));
  const auto even1 = static_cast<std::uint32_t>(wrapped(in(0) - in(4)) * (1 << kBits));
  const std::uint32_t t10 = even0 + even3, t13 = even0 - even3, t11 = even1 + even2, t12 = even1 - even2;
  const int s3 = wrapped(in(7) + in(3));
  const int s4 = wrapped(in(5) + in(1));
  const std::uint32_t z3 = times(s3, k1_175 - k1_961, s4, k1_175);
  const std::uint32_t z4 = times(s3, k1_175, s4, k1_175 - k0_390);
  const std::uint32_t odd0 = times(in(7), k0_298 - k0_899, in(1), -k0_899) + z3;
  const std::uint32_t odd3 = times(in(7), -k0_899, in(1), k1_501 - k0_899) + z4;
  const std::uint32_t odd1 = times(in(5), k2_053 - k2_562, in(3), -k2_562) + z4;
  const std::uint32_t odd2 = times(in(5), -k2_562, in(3), k3_072 - k2_562) + z3;
  v[0] = descaled(t10 + odd3, down);
  v[7 * step] = descaled(t10 - odd3, down);
  v[step] = descaled(t11 + odd2, down);
  v[6 * step] = descaled(t11 - odd2, down);
  v[2 * step] = descaled(t12 + odd1, down);
  v[5 * step] = descaled(t12 - odd1, down);
  v[3 * step] = descaled(t13 + odd0, down);
  v[4 * step] = descaled(t13 - odd0, down);
}

}  // namespace

void inverse_dct(CoefficientRow& row, const std::int16_t* quantisation, std::uint8_t* out, std::ptrdiff_t stride) {
  HWY_DYNAMIC_DISPATCH(inverse_dct_on_target)(row, quantisation, out, stride);
}

void inverse_dct_reference(const std::int16_t* coefficients, const std::int16_t* quantisation, std::uint8_t* out,
                           std::ptrdiff_t stride) {
  std::int16_t values[64];
  for (std::size_t i = 0; i < 64; ++i) values[i] = wrapped(coefficients[i] * quantisation[i]);
  // libjpeg-turbo's shortcut: without vertical frequencies the first pass only shifts.
  const bool constant_columns = std::all_of(coefficients + 8, coefficients + 64, [](std::int16_t c) { return c == 0; });
  for (std::ptrdiff_t x = 0; x < 8; ++x) {
    if (constant_columns) {
      const std::int16_t shifted = wrapped(values[x] * (1 << dct::kBetween));
      for (std::ptrdiff_t y = 0; y < 8; ++y) values[8 * y + x] = shifted;
    } else {
      transform(values + x, 8, dct::kBits - dct::kBetween);
    }
  }
  for (std::ptrdiff_t y = 0; y < 8; ++y) {
    transform(values + 8 * y, 1, dct::kBits + dct::kBetween + 3);
    for (std::ptrdiff_t x = 0; x < 8; ++x) {
      const int sample = std::min(values[8 * y + x] + 128, 32767);
      out[y * stride + x] = static_cast<std::uint8_t>(std::clamp(sample, 0, 255));
    }
  }
}

}  // namespace unstarve
#endif
