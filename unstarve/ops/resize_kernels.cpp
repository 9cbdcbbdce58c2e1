#include "unstarve/ops/resize_kernels.h"

#include <algorithm>
#include <cstring>

#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/ops/resize_kernels.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

std::uint8_t clipped(int value) { return static_cast<std::uint8_t>(std::clamp(value, 0, 255)); }

// Machines without SSE4: plain loops.
void run(const std::uint8_t* source, std::ptrdiff_t row_stride, Scratch::ResizeTables& t, std::uint8_t* out) {
  const AxisFilter& horizontal = t.horizontal;
  const AxisFilter& vertical = t.vertical;
  const std::ptrdiff_t row_bytes = std::ptrdiff_t{horizontal.output()} * kChannels;
  t.between.reserve_discard(static_cast<std::size_t>(row_bytes) * static_cast<std::size_t>(vertical.input()));
  std::uint8_t* between = t.between.data();
  for (int y = 0; y < vertical.input(); ++y) {
    for (int x = 0; x < horizontal.output(); ++x) {
      const int first = horizontal.first(x);
      for (int c = 0; c < kChannels; ++c) {
        int sum = 1 << (horizontal.fraction_bits() - 1);
        for (int k = 0; k < horizontal.taps() && first + k < horizontal.input(); ++k) {
          sum += horizontal.weights(x)[k] * source[y * row_stride + (first + k) * kChannels + c];
        }
        *between++ = clipped(sum >> horizontal.fraction_bits());
      }
    }
  }
  for (int y = 0; y < vertical.output(); ++y) {
    const int first = vertical.first(y);
    for (std::ptrdiff_t x = 0; x < row_bytes; ++x) {
      int sum = 1 << (vertical.fraction_bits() - 1);
      for (int k = 0; k < vertical.taps() && first + k < vertical.input(); ++k) {
        sum += vertical.weights(y)[k] * t.between.data()[(first + k) * row_bytes + x];
      }
      *out++ = clipped(sum >> vertical.fraction_bits());
    }
  }
}

#else

namespace hn = hwy::HWY_NAMESPACE;

// 32 bytes at most: in short bursts 512-bit vectors cost an Ice Lake core more in power transitions than they bring
// (57 us became 165 us for a 224 x 224 resize that followed other code).
constexpr std::size_t kBytes = HWY_MAX_BYTES < 32 ? HWY_MAX_BYTES : 32;
constexpr std::size_t kBlocks = kBytes / 16;
constexpr std::size_t kGroup = 4 * kBlocks;  // output pixels per step of the horizontal pass

using D8 = hn::FixedTag<std::uint8_t, kBytes>;
using D16 = hn::FixedTag<std::int16_t, kBytes / 2>;
using D32 = hn::FixedTag<std::int32_t, kBytes / 4>;
using V8 = hn::VFromD<D8>;
using V16 = hn::VFromD<D16>;
using V32 = hn::VFromD<D32>;

// On x86 a 16-bit multiply-add sums neighbouring products, so the rounding constant can be the first summand.
// Elsewhere the products wait in two vectors, and the pairs are summed at the end.
constexpr bool kSumsPairs = HWY_ARCH_X86;

struct Sum {
  V32 first;
  V32 second;

  explicit HWY_INLINE Sum(V32 rounding) : first(kSumsPairs ? rounding : hn::Zero(D32())), second(hn::Zero(D32())) {}
  HWY_INLINE void add(V16 values, V16 weights) {
    first = hn::ReorderWidenMulAccumulate(D32(), values, weights, first, second);
  }
  HWY_INLINE V32 finish(V32 rounding, int bits) const {
    const V32 sum = kSumsPairs ? first : hn::Add(hn::RearrangeToOddPlusEven(first, second), rounding);
    return hn::ShiftRightSame(sum, bits);
  }
};

// Two vectors of 16-bit values to one of bytes, clipped to 0..255, those of a first in each 128-bit block. Highway has
// no such demotion that keeps to the blocks.
HWY_INLINE V8 clip(V16 a, V16 b) {
#if HWY_ARCH_X86 && HWY_MAX_BYTES >= 32
  return V8{_mm256_packus_epi16(a.raw, b.raw)};
#elif HWY_ARCH_X86
  return V8{_mm_packus_epi16(a.raw, b.raw)};
#else
  static_assert(kBytes == 16);
  const hn::Half<D8> half;
  return hn::Combine(D8(), hn::DemoteTo(half, b), hn::DemoteTo(half, a));
#endif
}

// Four vectors of 32-bit values to one of bytes, clipped to 0..255: each 128-bit block holds those of a, b, c and d.
HWY_INLINE V8 narrow(V32 a, V32 b, V32 c, V32 d) {
  return clip(hn::ReorderDemote2To(D16(), a, b), hn::ReorderDemote2To(D16(), c, d));
}

constexpr std::uint8_t kZero = 0x80;  // makes a zero byte in a table look-up

// One row of the vertical pass: a weighted sum of `2 * pairs` rows, byte by byte. kPairs 0: any number, from `pairs`.
template <std::size_t kPairs>
HWY_INLINE void vertical_row(const std::uint8_t* const* HWY_RESTRICT rows, const std::int16_t* HWY_RESTRICT weights,
                             std::size_t pairs, int bits, std::size_t bytes, std::uint8_t* HWY_RESTRICT out) {
  if constexpr (kPairs != 0) pairs = kPairs;
  const V8 zero = hn::Zero(D8());
  const V32 rounding = hn::Set(D32(), 1 << (bits - 1));
  const auto weight_pair = [&](std::size_t p) HWY_ATTR {
    std::int32_t both;
    std::memcpy(&both, weights + 2 * p, sizeof(both));
    return hn::BitCast(D16(), hn::Set(D32(), both));
  };

  for (std::size_t x = 0; x < bytes; x += kBytes) {
    // The last vector overlaps the one before. A row shorter than a vector is followed by readable bytes, and what is
    // written behind it by the next row.
    if (x + kBytes > bytes) x = bytes > kBytes ? bytes - kBytes : 0;
    Sum s0(rounding), s1(rounding), s2(rounding), s3(rounding);
    for (std::size_t p = 0; p < pairs; ++p) {
      const V8 a = hn::LoadU(D8(), rows[2 * p] + x);
      const V8 b = hn::LoadU(D8(), rows[2 * p + 1] + x);
      const V16 w = weight_pair(p);
      const V8 lower = hn::InterleaveLower(D8(), a, b);
      const V8 upper = hn::InterleaveUpper(D8(), a, b);
      s0.add(hn::BitCast(D16(), hn::InterleaveLower(D8(), lower, zero)), w);
      s1.add(hn::BitCast(D16(), hn::InterleaveUpper(D8(), lower, zero)), w);
      s2.add(hn::BitCast(D16(), hn::InterleaveLower(D8(), upper, zero)), w);
      s3.add(hn::BitCast(D16(), hn::InterleaveUpper(D8(), upper, zero)), w);
    }
    const V8 sums = narrow(s0.finish(rounding, bits), s1.finish(rounding, bits), s2.finish(rounding, bits),
                           s3.finish(rounding, bits));
    hn::StoreU(sums, D8(), out + x);
  }
}

// Blocks of 16 bytes from `row + offsets[0]`, `row + offsets[4]`, ...: the kernel's vectors hold every fourth pixel.
template <class D>
HWY_INLINE hn::VFromD<D> load_blocks(D d, const std::uint8_t* row, const std::int32_t* offsets) {
  if constexpr (hn::MaxLanes(D()) == 16) {
    return hn::LoadU(d, row + offsets[0]);
  } else {
    const hn::Half<D> half;
    constexpr std::size_t kHalfBlocks = hn::MaxLanes(D()) / 32;
    return hn::Combine(d, load_blocks(half, row, offsets + 4 * kHalfBlocks), load_blocks(half, row, offsets));
  }
}

// The first 12 bytes of every block, side by side; 4 more bytes are written behind the last.
template <class D>
HWY_INLINE void store_blocks(D d, hn::VFromD<D> v, std::uint8_t* out) {
  if constexpr (hn::MaxLanes(D()) == 16) {
    hn::StoreU(v, d, out);
  } else {
    const hn::Half<D> half;
    store_blocks(half, hn::LowerHalf(half, v), out);
    store_blocks(half, hn::UpperHalf(half, v), out + hn::MaxLanes(D()) / 32 * 12);
  }
}

// One row of the horizontal pass. A block of 16 bytes holds the five pixels from an output pixel's first tap on; a
// table look-up pairs two of them as 16-bit [r r g g b b 0 0], which a multiply-add turns into 32-bit [r g b 0].
template <std::size_t kPairs>
HWY_INLINE void horizontal_row(const std::uint8_t* HWY_RESTRICT row, const std::int32_t* HWY_RESTRICT offsets,
                               const std::int16_t* HWY_RESTRICT spread, std::size_t pairs, int bits, std::size_t pixels,
                               std::uint8_t* HWY_RESTRICT out) {
  if constexpr (kPairs != 0) pairs = kPairs;
  alignas(16) static constexpr std::uint8_t kTaps01[16] = {0, kZero, 3, kZero, 1,     kZero, 4,     kZero,
                                                           2, kZero, 5, kZero, kZero, kZero, kZero, kZero};
  alignas(16) static constexpr std::uint8_t kTaps23[16] = {6, kZero, 9,  kZero, 7,     kZero, 10,    kZero,
                                                           8, kZero, 11, kZero, kZero, kZero, kZero, kZero};
  // narrow() of four pixels gives [r g b 0] four times.
  alignas(16) static constexpr std::uint8_t kToRgb[16] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15};
  const V8 taps01 = hn::LoadDup128(D8(), kTaps01);
  const V8 taps23 = hn::LoadDup128(D8(), kTaps23);
  const V8 to_rgb = hn::LoadDup128(D8(), kToRgb);
  const V32 rounding = hn::Set(D32(), 1 << (bits - 1));

  for (std::size_t i = 0; i < pixels; i += kGroup) {
    const auto pixel_sum = [&](std::size_t j) HWY_ATTR {
      Sum sum(rounding);
      const std::int16_t* w = spread + j * (kBytes / 2);
      for (std::size_t p = 0; p < pairs; p += 2) {
        const V8 block = load_blocks(D8(), row + p * 6, offsets + i + j);
        sum.add(hn::BitCast(D16(), hn::TableLookupBytesOr0(block, taps01)), hn::Load(D16(), w + p * kBytes * 2));
        if (p + 1 < pairs) {
          sum.add(hn::BitCast(D16(), hn::TableLookupBytesOr0(block, taps23)),
                  hn::Load(D16(), w + (p + 1) * kBytes * 2));
        }
      }
      return sum.finish(rounding, bits);
    };
    const V8 mixed = narrow(pixel_sum(0), pixel_sum(1), pixel_sum(2), pixel_sum(3));
    spread += pairs * kBytes * 2;
    // What is written behind the last block, the next group or row overwrites.
    store_blocks(D8(), hn::TableLookupBytes(mixed, to_rgb), out + 3 * i);
  }
}

// The horizontal weights as the kernel loads them: per group of pixels, pair of taps and vector j, each block the pair
// of pixel 4 * block + j, four times over. Pixels past the last repeat it.
void spread_horizontal(Scratch::ResizeTables& t) {
  const AxisFilter& filter = t.horizontal;
  const auto pixels = static_cast<std::size_t>(filter.output());
  const std::size_t groups = (pixels + kGroup - 1) / kGroup;
  const auto pairs = static_cast<std::size_t>(filter.taps()) / 2;
  t.offsets.resize(groups * kGroup);
  t.spread.reserve_discard(groups * pairs * 4 * kBytes);
  std::uint8_t* spread = t.spread.data();
  for (std::size_t i = 0; i < groups * kGroup; ++i) {
    const int pixel = static_cast<int>(i < pixels ? i : pixels - 1);
    t.offsets[i] = filter.first(pixel) * kChannels;
    const std::size_t group = i / kGroup, block = i % kGroup / 4, j = i % 4;
    for (std::size_t p = 0; p < pairs; ++p) {
      std::uint32_t both;
      std::memcpy(&both, filter.weights(pixel) + 2 * p, sizeof(both));
      const std::uint64_t four[2] = {both * 0x100000001u, both * 0x100000001u};
      std::memcpy(spread + ((group * pairs + p) * 4 + j) * kBytes + block * 16, four, sizeof(four));
    }
  }
}

void run_horizontal(const std::uint8_t* row, const Scratch::ResizeTables& t, std::uint8_t* out) {
  const auto* spread = reinterpret_cast<const std::int16_t*>(t.spread.data());
  const std::int32_t* offsets = t.offsets.data();
  const auto pixels = static_cast<std::size_t>(t.horizontal.output());
  const auto pairs = static_cast<std::size_t>(t.horizontal.taps()) / 2;
  const int bits = t.horizontal.fraction_bits();
  switch (pairs) {
    case 1: return horizontal_row<1>(row, offsets, spread, pairs, bits, pixels, out);
    case 2: return horizontal_row<2>(row, offsets, spread, pairs, bits, pixels, out);
    case 3: return horizontal_row<3>(row, offsets, spread, pairs, bits, pixels, out);
    default: return horizontal_row<0>(row, offsets, spread, pairs, bits, pixels, out);
  }
}

void run_vertical(const Scratch::ResizeTables& t, int y, std::uint8_t* out) {
  const std::uint8_t* const* rows = t.rows.data();
  const auto bytes = static_cast<std::size_t>(t.horizontal.output()) * kChannels;
  const auto pairs = static_cast<std::size_t>(t.vertical.taps()) / 2;
  const std::int16_t* weights = t.vertical.weights(y);
  const int bits = t.vertical.fraction_bits();
  switch (pairs) {
    case 1: return vertical_row<1>(rows, weights, pairs, bits, bytes, out);
    case 2: return vertical_row<2>(rows, weights, pairs, bits, bytes, out);
    case 3: return vertical_row<3>(rows, weights, pairs, bits, bytes, out);
    default: return vertical_row<0>(rows, weights, pairs, bits, bytes, out);
  }
}

void run(const std::uint8_t* source, std::ptrdiff_t row_stride, Scratch::ResizeTables& t, std::uint8_t* out) {
  const AxisFilter& horizontal = t.horizontal;
  const AxisFilter& vertical = t.vertical;
  const auto out_bytes = static_cast<std::size_t>(horizontal.output()) * kChannels;
  const int last_line = vertical.input() - 1;
  const auto taps = static_cast<std::size_t>(vertical.taps());
  // Only as many rows as one output row needs lie between the passes: line i in place i % taps of a ring.
  const std::size_t pitch = out_bytes + 2 * kBytes;
  t.between.reserve_discard(pitch * taps);
  t.rows.resize(taps);
  if (!horizontal.identity()) {
    spread_horizontal(t);
    // The horizontal pass reads beyond a row's last pixel, with weights of 0: into the next row, or from this copy.
    const auto row_bytes = static_cast<std::size_t>(horizontal.input()) * kChannels;
    t.last_row.reserve_discard(row_bytes + static_cast<std::size_t>(horizontal.taps()) * kChannels + kBytes);
    std::memcpy(t.last_row.data(), source + last_line * row_stride, row_bytes);
  }
  const auto source_line = [&](int line) {
    return line == last_line && !horizontal.identity() ? t.last_row.data() : source + line * row_stride;
  };

  int done = 0;  // lines that went through the horizontal pass
  for (int y = 0; y < vertical.output(); ++y, out += out_bytes) {
    if (vertical.identity()) {
      if (horizontal.identity()) {
        std::memcpy(out, source_line(y), out_bytes);
      } else {
        run_horizontal(source_line(y), t, out);
      }
      continue;
    }
    for (std::size_t k = 0; k < taps; ++k) {
      const int wanted = vertical.first(y) + static_cast<int>(k);
      const int line = wanted < last_line ? wanted : last_line;
      if (horizontal.identity()) {
        t.rows[k] = source_line(line);
        continue;
      }
      std::uint8_t* const row = t.between.data() + static_cast<std::size_t>(line) % taps * pitch;
      if (line >= done) {
        run_horizontal(source_line(line), t, row);
        done = line + 1;
      }
      t.rows[k] = row;
    }
    run_vertical(t, y, out);
  }
}

#endif

}  // namespace

void resize_rows_on_target(const std::uint8_t* source, std::ptrdiff_t row_stride, Scratch::ResizeTables& tables,
                           std::uint8_t* out) {
  run(source, row_stride, tables, out);
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {

HWY_EXPORT(resize_rows_on_target);

void resize_rows(const std::uint8_t* source, std::ptrdiff_t row_stride, Scratch::ResizeTables& tables,
                 std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(resize_rows_on_target)(source, row_stride, tables, out);
}

}  // namespace unstarve
#endif
