// The horizontal pass of a resize by blocks of 128 bits, for every instruction set. Included by resize_kernels.cpp once
// per instruction set.

namespace blocks {

// At most 32 bytes: see wide_vectors_pay().
constexpr std::size_t kBytes = HWY_MAX_BYTES < 32 ? HWY_MAX_BYTES : 32;
constexpr std::size_t kBlocks = kBytes / 16;
constexpr std::size_t kGroup = 4 * kBlocks;  // output pixels per step

using V = Vectors<kBytes>;
using D8 = V::D8;
using D16 = V::D16;
using D32 = V::D32;
using V8 = V::V8;
using V32 = V::V32;

constexpr std::uint8_t kZero = 0x80;  // makes a zero byte in a table look-up

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

// Stores the first 12 bytes of every block without gaps; 4 more bytes are written after the last.
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
// kPairs 0: any number of pairs of taps.
template <std::size_t kPairs>
HWY_INLINE void horizontal_row(const std::uint8_t* HWY_RESTRICT row, const ResizeTables& t,
                               std::uint8_t* HWY_RESTRICT out) {
  const std::int32_t* HWY_RESTRICT offsets = t.kernel.offsets.data();
  const std::int16_t* HWY_RESTRICT spread = reinterpret_cast<const std::int16_t*>(t.kernel.spread.data());
  const std::size_t pairs = kPairs != 0 ? kPairs : static_cast<std::size_t>(t.horizontal.taps()) / 2;
  const auto pixels = static_cast<std::size_t>(t.horizontal.output());
  const int bits = t.horizontal.fraction_bits();
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
      V::Sum sum(rounding);
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
    const V8 mixed = V::narrow(pixel_sum(0), pixel_sum(1), pixel_sum(2), pixel_sum(3));
    spread += pairs * kBytes * 2;
    // Bytes written beyond the last block are overwritten by the next group or row.
    store_blocks(D8(), hn::TableLookupBytes(mixed, to_rgb), out + 3 * i);
  }
}

// The horizontal weights as the kernel loads them: per group of pixels, pair of taps and vector j, each block has the
// pair of pixel 4 * block + j, four times. Pixels beyond the last repeat it.
void prepare(const AxisFilter& filter, HorizontalTables& tables) {
  const auto pixels = static_cast<std::size_t>(filter.output());
  const std::size_t groups = (pixels + kGroup - 1) / kGroup;
  const auto pairs = static_cast<std::size_t>(filter.taps()) / 2;
  tables.offsets.resize(groups * kGroup);
  tables.spread.reserve_discard(groups * pairs * 4 * kBytes);
  std::uint8_t* spread = tables.spread.data();
  for (std::size_t i = 0; i < groups * kGroup; ++i) {
    const int pixel = static_cast<int>(i < pixels ? i : pixels - 1);
    tables.offsets[i] = filter.first(pixel) * kChannels;
    const std::size_t group = i / kGroup, block = i % kGroup / 4, j = i % 4;
    for (std::size_t p = 0; p < pairs; ++p) {
      std::uint32_t both;
      std::memcpy(&both, filter.weights(pixel) + 2 * p, sizeof(both));
      const std::uint64_t four[2] = {both * 0x100000001u, both * 0x100000001u};
      std::memcpy(spread + ((group * pairs + p) * 4 + j) * kBytes + block * 16, four, sizeof(four));
    }
  }
}

void run(const std::uint8_t* row, const ResizeTables& t, std::uint8_t* out) {
  switch (t.horizontal.taps() / 2) {
    case 1: return horizontal_row<1>(row, t, out);
    case 2: return horizontal_row<2>(row, t, out);
    case 3: return horizontal_row<3>(row, t, out);
    default: return horizontal_row<0>(row, t, out);
  }
}

}  // namespace blocks
