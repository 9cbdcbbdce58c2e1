#include "unstarve/codecs/jpeg/transform/idct_reduced.h"

#include <algorithm>
#include <cstring>

#include "unstarve/codecs/jpeg/transform/dct_constants.h"
#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/codecs/jpeg/transform/idct_reduced.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

#include "unstarve/codecs/jpeg/transform/coefficient_rows-inl.h"
#include "unstarve/codecs/jpeg/transform/dct_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

// Blocks first .. first + count - 1 of a row.
struct Blocks {
  CoefficientRow& row;
  std::size_t first, count;
};

// By the reference.
HWY_NOINLINE void plain_blocks(const Blocks& blocks, int size, const std::int16_t* quantisation, std::uint8_t* out,
                               std::ptrdiff_t stride) {
  for (std::size_t block = blocks.first; block < blocks.first + blocks.count; ++block) {
    std::int16_t coefficients[64];
    take_scalar(blocks.row.block(block), coefficients);
    inverse_dct_reduced_reference(coefficients, size, quantisation, out + block * static_cast<std::size_t>(size),
                                  stride);
  }
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

// Machines without SSE4.
void run(CoefficientRow& row, int size, const std::int16_t* quantisation, std::uint8_t* out, std::ptrdiff_t stride) {
  plain_blocks({row, 0, row.blocks()}, size, quantisation, out, stride);
}

#else

namespace hn = hwy::HWY_NAMESPACE;

using D8 = hn::FixedTag<std::uint8_t, kBytes / 2>;

// The factors of all rows, repeated for each part of a vector.
struct Factors {
  V16 of[8];
  explicit Factors(const std::int16_t* quantisation) {
    for (std::size_t y = 0; y < 8; ++y) of[y] = hn::LoadDup128(D16(), quantisation + 8 * y);
  }
};

// The dequantised rows of kParts blocks.
HWY_INLINE void load_rows(const std::int16_t* block, const Factors& factors, V16 (&v)[8]) {
  rows_of(load_slots(block), v);
  for (std::size_t y = 0; y < 8; ++y) v[y] = hn::Mul(v[y], factors.of[y]);
}

// Whether kParts blocks have only DC and no wild value.
HWY_INLINE bool is_flat(CoefficientRow& row, std::size_t first, const Factors& factors) {
  const Slots slots = load_slots(row.block(first));
  return only_dc(slots) && !is_wild(hn::Mul(dc_row(slots), factors.of[0]));
}

// From eight values to four, across vectors; ignores v[4].
template <int kDown>
HWY_INLINE void to_four(const V16 (&v)[8], V16 (&out)[4]) {
  using namespace dct;  // NOLINT: its constants
  const Pair z13(v[1], v[3]);
  const Pair z57(v[5], v[7]);
  const Wide outer = z13.times<k2_562, k0_899>() + z57.times<-k0_601, -k0_509>();
  const Wide inner = z13.times<k1_061, -k2_172>() + z57.times<k1_451, -k0_211>();
  const Wide even = shifted<kBits + 1>(v[0]);
  const Wide z26 = Pair(v[2], v[6]).times<k1_847, -k0_765>();
  const Wide t10 = even + z26;
  const Wide t12 = even - z26;
  out[0] = descaled<kDown>(t10 + outer);
  out[1] = descaled<kDown>(t12 + inner);
  out[2] = descaled<kDown>(t12 - inner);
  out[3] = descaled<kDown>(t10 - outer);
}

// Rows y and y + 1 of kParts blocks, four samples each, next to each other in each part.
HWY_INLINE void store_fours(V16 v, std::ptrdiff_t y, std::uint8_t* out, std::ptrdiff_t stride) {
  alignas(64) std::uint8_t samples[kBytes / 2];
  hn::Store(hn::DemoteTo(D8(), hn::SaturatedAdd(v, hn::Set(D16(), 128))), D8(), samples);
  for (std::size_t p = 0; p < kParts; ++p) {
    std::memcpy(out + y * stride + 4 * p, samples + 8 * p, 4);
    std::memcpy(out + (y + 1) * stride + 4 * p, samples + 8 * p + 4, 4);
  }
}

// Blocks with only DC: all samples are equal.
HWY_INLINE void flat_blocks(const Blocks& blocks, std::ptrdiff_t size, const std::int16_t* quantisation,
                            std::uint8_t* out, std::ptrdiff_t stride) {
  for (std::size_t block = blocks.first; block < blocks.first + blocks.count; ++block) {
    std::int16_t& dc = blocks.row.block(block)[CoefficientRow::kDc];
    const auto value = static_cast<std::int16_t>(static_cast<std::uint16_t>(dc * quantisation[0]));
    const int sample = std::clamp(((value + 4) >> 3) + 128, 0, 255);
    dc = 0;
    for (std::ptrdiff_t y = 0; y < size; ++y) {
      std::memset(out + static_cast<std::ptrdiff_t>(block) * size + y * stride, sample, static_cast<std::size_t>(size));
    }
  }
}

// Two vectors of blocks at a time, so that the second pass has full vectors: after the transposition their rows are
// next to each other.
void run_4(CoefficientRow& row, const std::int16_t* quantisation, std::uint8_t* out, std::ptrdiff_t stride) {
  const Factors factors(quantisation);
  const std::size_t blocks = row.blocks();
  for (std::size_t first = 0; first < blocks; first += 2 * kParts) {
    const std::size_t second = first + kParts;
    const bool both = second < blocks;
    const std::size_t count = both ? 2 * kParts : kParts;
    if (is_flat(row, first, factors) && (!both || is_flat(row, second, factors))) {
      flat_blocks({row, first, count}, 4, quantisation, out, stride);
      continue;
    }
    bool wild = false;
    V16 halves[2][4], w[8], o[4];
    for (V16& value : halves[1]) value = hn::Zero(D16());
    for (std::size_t half = 0; half < (both ? 2 : 1); ++half) {
      V16 v[8];
      load_rows(row.block(half == 0 ? first : second), factors, v);
      wild = wild || is_wild(v[0]);
      to_four<dct::kBits - dct::kBetween + 1>(v, halves[half]);
    }
    if (HWY_UNLIKELY(wild)) {
      plain_blocks({row, first, count}, 4, quantisation, out, stride);
      continue;
    }
    clear_blocks(row.block(first));
    if (both) clear_blocks(row.block(second));
    for (std::size_t i = 0; i < 4; ++i) {
      w[i] = halves[0][i];
      w[4 + i] = halves[1][i];
    }
    transpose(w);
    to_four<dct::kBits + dct::kBetween + 3 + 1>(w, o);
    // Transposes columns of four rows of both blocks to rows.
    interleave(D16(), o[0], o[1]);
    interleave(D16(), o[2], o[3]);
    interleave(D32(), o[0], o[2]);
    interleave(D32(), o[1], o[3]);
    store_fours(o[0], 0, out + 4 * first, stride);
    store_fours(o[2], 2, out + 4 * first, stride);
    if (!both) continue;
    store_fours(o[1], 0, out + 4 * second, stride);
    store_fours(o[3], 2, out + 4 * second, stride);
  }
}

// The sum of a part's values times `factors`, in each of its lanes.
HWY_INLINE V32 sum_of(V16 values, V16 factors) {
  V32 second = hn::Zero(D32());
  const V32 first = hn::ReorderWidenMulAccumulate(D32(), values, factors, hn::Zero(D32()), second);
  const V32 pairs = hn::RearrangeToOddPlusEven(first, second);
  const V32 halves = hn::Add(pairs, hn::Shuffle2301(pairs));
  return hn::Add(halves, hn::Shuffle1032(halves));
}

// One row of two samples from a row of the first pass, in `samples`: kParts first samples, then kParts second samples.
HWY_INLINE void second_pass_to_two(Wide row, V16 factors, std::int32_t* samples) {
  constexpr int kFirstDown = dct::kBits - dct::kBetween + 2;
  constexpr int kDown = dct::kBits + dct::kBetween + 3 + 2;
  const V32 sum = sum_of(descaled<kFirstDown>(row), factors);
  const V32 column0 = hn::ShiftRight<kFirstDown>(hn::Add(row.lower, hn::Set(D32(), 1 << (kFirstDown - 1))));
  const V32 even = hn::Add(hn::ShiftLeft<dct::kBits + 2>(column0), hn::Set(D32(), 1 << (kDown - 1)));
  alignas(64) std::int32_t lanes[2][kBytes / 4];
  hn::Store(hn::ShiftRight<kDown>(hn::Add(even, sum)), D32(), lanes[0]);
  hn::Store(hn::ShiftRight<kDown>(hn::Sub(even, sum)), D32(), lanes[1]);
  for (std::size_t p = 0; p < kParts; ++p) {
    samples[2 * p] = lanes[0][4 * p];
    samples[2 * p + 1] = lanes[1][4 * p];
  }
}

void run_2(CoefficientRow& row, const std::int16_t* quantisation, std::uint8_t* out, std::ptrdiff_t stride) {
  using namespace dct;  // NOLINT: its constants
  const Factors factors(quantisation);
  alignas(16) static constexpr std::int16_t kColumns[8] = {0, k3_624, 0, -k1_272, 0, k0_850, 0, -k0_720};
  const V16 columns = hn::LoadDup128(D16(), kColumns);
  for (std::size_t first = 0; first < row.blocks(); first += kParts) {
    if (is_flat(row, first, factors)) {
      flat_blocks({row, first, kParts}, 2, quantisation, out, stride);
      continue;
    }
    V16 v[8];
    load_rows(row.block(first), factors, v);
    clear_blocks(row.block(first));
    const Wide odd = Pair(v[1], v[3]).times<k3_624, -k1_272>() + Pair(v[5], v[7]).times<k0_850, -k0_720>();
    const Wide even = shifted<kBits + 2>(v[0]);
    for (std::ptrdiff_t y = 0; y < 2; ++y) {
      std::int32_t samples[2 * kParts];
      second_pass_to_two(y == 0 ? even + odd : even - odd, columns, samples);
      for (std::size_t i = 0; i < 2 * kParts; ++i) {
        out[y * stride + static_cast<std::ptrdiff_t>(2 * first + i)] =
            static_cast<std::uint8_t>(std::clamp(samples[i] + 128, 0, 255));
      }
    }
  }
}

void run(CoefficientRow& row, int size, const std::int16_t* quantisation, std::uint8_t* out, std::ptrdiff_t stride) {
  if (size == 4) return run_4(row, quantisation, out, stride);
  run_2(row, quantisation, out, stride);
}

#endif

}  // namespace

// `size`: 4 or 2.
void inverse_dct_reduced_on_target(CoefficientRow& row, int size, const std::int16_t* quantisation, std::uint8_t* out,
                                   std::ptrdiff_t stride) {
  run(row, size, quantisation, out, stride);
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {
namespace {

HWY_EXPORT(inverse_dct_reduced_on_target);

}  // namespace

void inverse_dct_reduced(CoefficientRow& row, int size, const std::int16_t* quantisation, std::uint8_t* out,
                         std::ptrdiff_t stride) {
  if (size > 1) return HWY_DYNAMIC_DISPATCH(inverse_dct_reduced_on_target)(row, size, quantisation, out, stride);
  for (std::size_t block = 0; block < row.blocks(); ++block) {
    std::int16_t* const values = row.block(block);
    inverse_dct_reduced_reference(values + CoefficientRow::kDc, 1, quantisation, out + block, stride);
    std::fill_n(values, CoefficientRow::kBlockValues, std::int16_t{0});
  }
}

}  // namespace unstarve
#endif
