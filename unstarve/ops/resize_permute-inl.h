// The horizontal pass of a resize where bytes can be permuted freely (AVX-512 VBMI). Included by resize_kernels.cpp
// once per instruction set.
//
// An output row is a run of 3 * width bytes; each vector of 32-bit sums makes neighbouring ones, all lanes in use. The
// input bytes of one pair of taps lie within a vector for all of them (of 32 bytes: up to a reduction of some 3), so
// one permutation brings each to its lane as 16 bits, zero extended; for the next pair the same permutation reads 6
// bytes further. Loads are what bounds it, nearly all of them across a cache line: several rows share those of the
// permutation and of the weights, and where the bytes of all taps lie within one vector (of 64 bytes: up to a reduction
// of some 2.7) or two (5.8) these are loaded once, and the permutation takes from places further on instead.
#if HWY_TARGET == HWY_AVX3_DL

// kVector: bytes per vector, 32 or 64.
template <std::size_t kVector>
struct Permuted {
  static constexpr std::size_t kRowsAtOnce = 2;      // more run no faster, out of registers
  static constexpr std::size_t kSums = kVector / 4;  // bytes of output per vector of sums
  static constexpr std::size_t kStep = 4 * kSums;    // bytes per step: narrowing joins four vectors

  using V = Vectors<kVector>;
  using D8 = typename V::D8;
  using D16 = typename V::D16;
  using D32 = typename V::D32;
  using V8 = typename V::V8;
  using V16 = typename V::V16;
  using V32 = typename V::V32;
  using Sum = typename V::Sum;

  // Of each 16 bits the byte at `index`, zero extended; odd places of `index` mean nothing.
  static HWY_INLINE V16 pick(V8 index, V8 from) {
    if constexpr (kVector == 64) {
      return V16{_mm512_maskz_permutexvar_epi8(0x5555555555555555u, index.raw, from.raw)};
    } else {
      return V16{_mm256_maskz_permutexvar_epi8(0x55555555u, index.raw, from.raw)};
    }
  }

  // The same of two vectors, where 64 bytes wide.
  static HWY_INLINE V16 pick(V8 index, V8 from, [[maybe_unused]] V8 behind) {
    if constexpr (kVector == 64) {
      return V16{_mm512_maskz_permutex2var_epi8(0x5555555555555555u, from.raw, index.raw, behind.raw)};
    } else {
      return pick(index, from);
    }
  }

  // Sums to bytes, clipped to 0..255, in order.
  static HWY_INLINE V8 in_order(V32 a, V32 b, V32 c, V32 d) {
    // Packing leaves four bytes of each of the four vectors in every 128 bits.
    alignas(64) static constexpr std::int32_t kOrder32[] = {0, 4, 1, 5, 2, 6, 3, 7};
    alignas(64) static constexpr std::int32_t kOrder64[] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    const auto order = hn::SetTableIndices(D32(), kVector == 64 ? kOrder64 : kOrder32);
    const V32 packed = hn::BitCast(D32(), V::narrow(a, b, c, d));
    return hn::BitCast(D8(), hn::TableLookupLanes(packed, order));
  }

  // Tables of the filter: per vector of sums `offsets` (of its first input byte), `indices` and, per pair of taps,
  // weights in `spread`. False, and nothing useful in them, when the input of a vector lies too far apart.
  static bool prepare(Scratch::ResizeTables& t) {
    const AxisFilter& filter = t.horizontal;
    const std::size_t bytes = static_cast<std::size_t>(filter.output()) * kChannels;
    const std::size_t vectors = (bytes + kStep - 1) / kStep * 4;
    const auto pairs = static_cast<std::size_t>(filter.taps()) / 2;
    t.offsets.resize(vectors);
    t.indices.reserve_discard(vectors * kVector);
    t.spread.reserve_discard(vectors * pairs * kVector);
    int last = 0;  // byte from its vector's first on that any lane takes
    for (std::size_t v = 0; v < vectors; ++v) {
      std::uint8_t* const index = t.indices.data() + v * kVector;
      std::uint8_t* const spread = t.spread.data() + v * pairs * kVector;
      const std::size_t start = std::min(v * kSums, bytes - 1) / kChannels;
      const int offset = filter.first(static_cast<int>(start)) * kChannels;
      t.offsets[v] = offset;
      for (std::size_t lane = 0; lane < kSums; ++lane) {
        const std::size_t at = std::min(v * kSums + lane, bytes - 1);  // those past the last repeat it
        const auto pixel = static_cast<int>(at / kChannels);
        const int from = filter.first(pixel) * kChannels - offset + static_cast<int>(at % kChannels);
        if (from < 0 || from + kChannels >= static_cast<int>(kVector == 64 ? 2 * kVector : kVector)) return false;
        last = std::max(last, from + kChannels + static_cast<int>(pairs - 1) * 2 * kChannels);
        index[4 * lane] = static_cast<std::uint8_t>(from);
        index[4 * lane + 2] = static_cast<std::uint8_t>(from + kChannels);
        index[4 * lane + 1] = index[4 * lane + 3] = 0;
        const std::int16_t* const weights = filter.weights(pixel);
        for (std::size_t p = 0; p < pairs; ++p) std::memcpy(spread + p * kVector + 4 * lane, weights + 2 * p, 4);
      }
    }
    t.loads = last < static_cast<int>(kVector) ? 1 : kVector == 64 ? 2 : 0;
    return last < static_cast<int>(2 * kVector) || t.loads == 0;
  }

  // kRows rows; to each of `out` up to kStep - 1 bytes more are written than the row has.
  // kPairs 0: any number of pairs of taps. kLoads: t.loads.
  template <std::size_t kPairs, std::size_t kRows, int kLoads>
  static HWY_INLINE void rows(const std::uint8_t* const* source, std::ptrdiff_t ahead, const Scratch::ResizeTables& t,
                              std::uint8_t* const* out) {
    const std::size_t pairs = kPairs != 0 ? kPairs : static_cast<std::size_t>(t.horizontal.taps()) / 2;
    const std::size_t bytes = static_cast<std::size_t>(t.horizontal.output()) * kChannels;
    const int bits = t.horizontal.fraction_bits();
    const V32 rounding = hn::Set(D32(), 1 << (bits - 1));
    const V8 two_pixels = hn::Set(D8(), 2 * kChannels);
    const std::int32_t* HWY_RESTRICT offsets = t.offsets.data();
    const std::uint8_t* HWY_RESTRICT indices = t.indices.data();
    const std::uint8_t* HWY_RESTRICT spread = t.spread.data();
    const std::uint8_t* row[kRows];
    std::uint8_t* to[kRows];
    for (std::size_t r = 0; r < kRows; ++r) {
      row[r] = source[r];
      to[r] = out[r];
    }
    for (std::size_t at = 0; at < bytes; at += kStep) {
      Sum sums[kRows][4];
      HWY_UNROLL(4) for (std::size_t j = 0; j < 4; ++j) {
        V8 index = hn::Load(D8(), indices + j * kVector);
        V8 loaded[kRows], behind[kRows];
        HWY_UNROLL(2) for (std::size_t r = 0; r < kRows; ++r) {
          sums[r][j] = Sum(rounding);
          if (kLoads > 0) loaded[r] = hn::LoadU(D8(), row[r] + offsets[j]);
          if (kLoads > 1) behind[r] = hn::LoadU(D8(), row[r] + offsets[j] + kVector);
          // The same place of rows to come, into the second-level cache: several streams of short rows are more than a
          // processor prefetches by itself, and the first level has too few lines under way for memory's latency. A
          // photograph that is not in the cache takes 123 us without, 87 with the next rows into the first level, 75
          // so (Zen 4; 55 in the cache).
          if (kRows > 1) _mm_prefetch(reinterpret_cast<const char*>(row[r] + 4 * ahead + offsets[j]), _MM_HINT_T1);
        }
        for (std::size_t p = 0; p < pairs; ++p) {
          const V16 weights =
              hn::Load(D16(), reinterpret_cast<const std::int16_t*>(spread + (j * pairs + p) * kVector));
          HWY_UNROLL(2) for (std::size_t r = 0; r < kRows; ++r) {
            if (kLoads == 0) loaded[r] = hn::LoadU(D8(), row[r] + offsets[j] + p * 2 * kChannels);
            sums[r][j].add(kLoads > 1 ? pick(index, loaded[r], behind[r]) : pick(index, loaded[r]), weights);
          }
          if (kLoads > 0) index = hn::Add(index, two_pixels);
        }
      }
      HWY_UNROLL(2) for (std::size_t r = 0; r < kRows; ++r) {
        const auto sum = [&](int j) HWY_ATTR { return sums[r][j].finish(rounding, bits); };
        hn::StoreU(in_order(sum(0), sum(1), sum(2), sum(3)), D8(), to[r] + at);
      }
      offsets += 4;
      indices += 4 * kVector;
      spread += 4 * pairs * kVector;
    }
  }

  template <std::size_t kRows, int kLoads>
  static void run_rows(const std::uint8_t* const* source, std::ptrdiff_t ahead, const Scratch::ResizeTables& t,
                       std::uint8_t* const* out) {
    switch (t.horizontal.taps() / 2) {
      case 1: return rows<1, kRows, kLoads>(source, ahead, t, out);
      case 2: return rows<2, kRows, kLoads>(source, ahead, t, out);
      case 3: return rows<3, kRows, kLoads>(source, ahead, t, out);
      case 4: return rows<4, kRows, kLoads>(source, ahead, t, out);
      default: return rows<0, kRows, kLoads>(source, ahead, t, out);
    }
  }

  template <std::size_t kRows>
  static void run_rows(const std::uint8_t* const* source, std::ptrdiff_t ahead, const Scratch::ResizeTables& t,
                       std::uint8_t* const* out) {
    if (t.loads == 1) return run_rows<kRows, 1>(source, ahead, t, out);
    run_rows<kRows, kVector == 64 ? 2 : 0>(source, ahead, t, out);
  }

  // `count` rows: 1 or kRowsAtOnce, each of which the one to be taken next follows `ahead` bytes later.
  static void run(const std::uint8_t* const* source, std::size_t count, std::ptrdiff_t ahead,
                  const Scratch::ResizeTables& t, std::uint8_t* const* out) {
    if (count == 1) return run_rows<1>(source, ahead, t, out);
    run_rows<kRowsAtOnce>(source, ahead, t, out);
  }
};

#endif
