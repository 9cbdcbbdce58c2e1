// The horizontal pass of a resize on CPUs that permute bytes across a vector (AVX-512 VBMI). Included by
// resize_kernels.cpp once per instruction set.
//
// An output row is a run of 3 * width bytes; each vector of 32-bit sums computes neighbouring bytes and uses all lanes.
// The input bytes of one pair of taps are within one vector (of 32 bytes: up to a reduction of about 3), so that one
// permutation brings each to its lane, zero-extended to 16 bits; for the next pair the same permutation reads 6 bytes
// further. Loads are the bottleneck, nearly all of them across a cache line. So several rows share the loads of
// permutation and weights, and if the bytes of all taps are within one vector (of 64 bytes: up to a reduction of about
// 2.7) or two (5.8), these are loaded once and the indices of the permutation advance instead.
#if HWY_TARGET == HWY_AVX3_DL

// kVector: bytes per vector, 32 or 64.
template <std::size_t kVector>
struct Permuted {
  static constexpr std::size_t kRowsPerCall = 2;     // more rows need more registers and are not faster
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

  // The byte at `index` for each 16 bits, zero-extended; odd bytes of `index` are ignored.
  static HWY_INLINE V16 pick(V8 index, V8 from) {
    if constexpr (kVector == 64) {
      return V16{_mm512_maskz_permutexvar_epi8(0x5555555555555555u, index.raw, from.raw)};
    } else {
      return V16{_mm256_maskz_permutexvar_epi8(0x55555555u, index.raw, from.raw)};
    }
  }

  // The same from two vectors if they are 64 bytes wide.
  static HWY_INLINE V16 pick(V8 index, V8 from, [[maybe_unused]] V8 next) {
    if constexpr (kVector == 64) {
      return V16{_mm512_maskz_permutex2var_epi8(0x5555555555555555u, from.raw, index.raw, next.raw)};
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

  // The first and the last input byte that a lane takes, relative to the first byte of its vector.
  struct Reach {
    int first = 0, last = 0;
  };

  // Tables for the sums of one vector: `index` of the bytes of the first two taps and, per pair of taps, weights in
  // `spread`. Lanes beyond the last byte of the row repeat it.
  static Reach prepare_lanes(const AxisFilter& filter, std::size_t v, std::uint8_t* index, std::uint8_t* spread) {
    const std::size_t bytes = static_cast<std::size_t>(filter.output()) * kChannels;
    const std::size_t pairs = static_cast<std::size_t>(filter.taps()) / 2;
    const int offset = filter.first(static_cast<int>(std::min(v * kSums, bytes - 1) / kChannels)) * kChannels;
    Reach reach;
    for (std::size_t lane = 0; lane < kSums; ++lane) {
      const std::size_t at = std::min(v * kSums + lane, bytes - 1);
      const auto pixel = static_cast<int>(at / kChannels);
      const int from = filter.first(pixel) * kChannels - offset + static_cast<int>(at % kChannels);
      reach = {std::min(reach.first, from), std::max(reach.last, from + kChannels)};
      index[4 * lane] = static_cast<std::uint8_t>(from);
      index[4 * lane + 2] = static_cast<std::uint8_t>(from + kChannels);
      index[4 * lane + 1] = index[4 * lane + 3] = 0;
      const std::int16_t* const weights = filter.weights(pixel);
      for (std::size_t p = 0; p < pairs; ++p) std::memcpy(spread + p * kVector + 4 * lane, weights + 2 * p, 4);
    }
    return reach;
  }

  static constexpr std::size_t kPixels = (kSums + 2 * kChannels - 2) / kChannels;  // with a lane in one vector, at most

  // The output pixel of each lane, relative to the first of its vector, and its channel; [c]: the first lane's channel.
  struct LanePositions {
    alignas(64) std::int32_t pixel[kChannels][kSums], channel[kChannels][kSums];
  };
  static constexpr LanePositions lane_positions() {
    LanePositions positions{};
    for (std::size_t c = 0; c < kChannels; ++c) {
      for (std::size_t lane = 0; lane < kSums; ++lane) {
        positions.pixel[c][lane] = static_cast<std::int32_t>((c + lane) / kChannels);
        positions.channel[c][lane] = static_cast<std::int32_t>((c + lane) % kChannels);
      }
    }
    return positions;
  }

  // Value `index` of 2 * kSums values.
  static HWY_INLINE V32 pick_of_two(V32 low, V32 index, V32 high) {
    if constexpr (kVector == 64) {
      return V32{_mm512_permutex2var_epi32(low.raw, index.raw, high.raw)};
    } else {
      return V32{_mm256_permutex2var_epi32(low.raw, index.raw, high.raw)};
    }
  }

  // Number of vectors that prepare_all_lanes() may prepare: it reads kSums output pixels from the first of a vector on,
  // and two vectors of weights.
  static std::size_t full_vectors(const AxisFilter& filter) {
    const std::size_t pairs = static_cast<std::size_t>(filter.taps()) / 2;
    const auto output = static_cast<std::size_t>(filter.output());
    if (kPixels * pairs > 2 * kSums || output < kSums) return 0;
    return (output - kSums) * kChannels / kSums;
  }

  // prepare_lanes() for vectors 0 .. count - 1, vectorised over lanes.
  static Reach prepare_all_lanes(const AxisFilter& filter, std::size_t count, std::uint8_t* index,
                                 std::uint8_t* spread) {
    static constexpr LanePositions kPositions = lane_positions();
    const D32 d;
    const std::size_t pairs = static_cast<std::size_t>(filter.taps()) / 2;
    const V32 each = hn::Set(d, static_cast<std::int32_t>(pairs));
    const V32 next_tap = hn::Set(d, kChannels * 0x10000);
    const V32 one = hn::Set(d, 1);
    V32 least = hn::Zero(d), most = hn::Zero(d);
    for (std::size_t v = 0; v < count; ++v, index += kVector) {
      const std::size_t start = v * kSums / kChannels, c = v * kSums % kChannels;
      const V32 pixel = hn::Load(d, kPositions.pixel[c]);
      const int* const firsts = filter.firsts() + start;
      const V32 first =
          hn::TableLookupLanes(hn::Sub(hn::LoadU(d, firsts), hn::Set(d, *firsts)), hn::IndicesFromVec(d, pixel));
      const V32 from = hn::Add(hn::Add(hn::Add(first, first), first), hn::Load(d, kPositions.channel[c]));
      least = hn::Min(least, from);
      most = hn::Max(most, from);
      hn::Store(hn::Add(hn::Or(from, hn::ShiftLeft<16>(from)), next_tap), d, reinterpret_cast<std::int32_t*>(index));
      const auto* const weights = reinterpret_cast<const std::int32_t*>(filter.weights(static_cast<int>(start)));
      const V32 low = hn::LoadU(d, weights);
      const V32 high = kPixels * pairs > kSums ? hn::LoadU(d, weights + kSums) : low;
      V32 at = hn::Mul(pixel, each);
      for (std::size_t p = 0; p < pairs; ++p, spread += kVector, at = hn::Add(at, one)) {
        hn::Store(pick_of_two(low, at, high), d, reinterpret_cast<std::int32_t*>(spread));
      }
    }
    return {hn::GetLane(hn::MinOfLanes(d, least)), hn::GetLane(hn::MaxOfLanes(d, most)) + kChannels};
  }

  // Tables of the filter: per vector of sums `offsets` (of its first input byte), `indices` and, per pair of taps,
  // weights in `spread`. Returns false, with invalid tables, if the input of a vector is spread too far.
  static bool prepare(const AxisFilter& filter, HorizontalTables& tables) {
    const std::size_t bytes = static_cast<std::size_t>(filter.output()) * kChannels;
    const std::size_t vectors = (bytes + kStep - 1) / kStep * 4;
    const auto pairs = static_cast<std::size_t>(filter.taps()) / 2;
    tables.offsets.resize(vectors);
    tables.indices.reserve_discard(vectors * kVector);
    tables.spread.reserve_discard(vectors * pairs * kVector);
    for (std::size_t v = 0; v < vectors; ++v) {
      tables.offsets[v] = filter.first(static_cast<int>(std::min(v * kSums, bytes - 1) / kChannels)) * kChannels;
    }
    const std::size_t at_once = full_vectors(filter);
    Reach reach = prepare_all_lanes(filter, at_once, tables.indices.data(), tables.spread.data());
    for (std::size_t v = at_once; v < vectors; ++v) {
      const Reach one =
          prepare_lanes(filter, v, tables.indices.data() + v * kVector, tables.spread.data() + v * pairs * kVector);
      reach = {std::min(reach.first, one.first), std::max(reach.last, one.last)};
    }
    constexpr int kBytes = static_cast<int>(kVector);
    const int last = reach.last + static_cast<int>(pairs - 1) * 2 * kChannels;  // of all pairs
    tables.loads = last < kBytes ? 1 : kVector == 64 ? 2 : 0;
    return reach.first >= 0 && (tables.loads == 0 ? reach.last : last) < (tables.loads == 2 ? 2 * kBytes : kBytes);
  }

  // Resizes kRows rows; writes up to kStep - 1 bytes beyond each row of `out`.
  // kPairs 0: any number of pairs of taps. kLoads: t.kernel.loads.
  template <std::size_t kPairs, std::size_t kRows, int kLoads>
  static HWY_INLINE void rows(const std::uint8_t* const* source, std::ptrdiff_t advance, const ResizeTables& t,
                              std::uint8_t* const* out) {
    const std::size_t pairs = kPairs != 0 ? kPairs : static_cast<std::size_t>(t.horizontal.taps()) / 2;
    const std::size_t bytes = static_cast<std::size_t>(t.horizontal.output()) * kChannels;
    const int bits = t.horizontal.fraction_bits();
    const V32 rounding = hn::Set(D32(), 1 << (bits - 1));
    const V8 two_pixels = hn::Set(D8(), 2 * kChannels);
    const std::int32_t* HWY_RESTRICT offsets = t.kernel.offsets.data();
    const std::uint8_t* HWY_RESTRICT indices = t.kernel.indices.data();
    const std::uint8_t* HWY_RESTRICT spread = t.kernel.spread.data();
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
        V8 loaded[kRows], next[kRows];
        HWY_UNROLL(2) for (std::size_t r = 0; r < kRows; ++r) {
          sums[r][j] = Sum(rounding);
          if (kLoads > 0) loaded[r] = hn::LoadU(D8(), row[r] + offsets[j]);
          if (kLoads > 1) next[r] = hn::LoadU(D8(), row[r] + offsets[j] + kVector);
          // Prefetch the same offset of later rows to the second-level cache: several streams of short rows are too
          // many for the hardware prefetcher, and the first level allows too few outstanding misses. A photograph that
          // is not cached takes 123 us without prefetch, 87 us with prefetch to the first level, 75 us with this (Zen
          // 4; 55 us if cached).
          if (kRows > 1) _mm_prefetch(reinterpret_cast<const char*>(row[r] + 4 * advance + offsets[j]), _MM_HINT_T1);
        }
        for (std::size_t p = 0; p < pairs; ++p) {
          const V16 weights =
              hn::Load(D16(), reinterpret_cast<const std::int16_t*>(spread + (j * pairs + p) * kVector));
          HWY_UNROLL(2) for (std::size_t r = 0; r < kRows; ++r) {
            if (kLoads == 0) loaded[r] = hn::LoadU(D8(), row[r] + offsets[j] + p * 2 * kChannels);
            sums[r][j].add(kLoads > 1 ? pick(index, loaded[r], next[r]) : pick(index, loaded[r]), weights);
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
  static void run_rows(const std::uint8_t* const* source, std::ptrdiff_t advance, const ResizeTables& t,
                       std::uint8_t* const* out) {
    switch (t.horizontal.taps() / 2) {
      case 1: return rows<1, kRows, kLoads>(source, advance, t, out);
      case 2: return rows<2, kRows, kLoads>(source, advance, t, out);
      case 3: return rows<3, kRows, kLoads>(source, advance, t, out);
      case 4: return rows<4, kRows, kLoads>(source, advance, t, out);
      default: return rows<0, kRows, kLoads>(source, advance, t, out);
    }
  }

  template <std::size_t kRows>
  static void run_rows(const std::uint8_t* const* source, std::ptrdiff_t advance, const ResizeTables& t,
                       std::uint8_t* const* out) {
    if (t.kernel.loads == 1) return run_rows<kRows, 1>(source, advance, t, out);
    run_rows<kRows, kVector == 64 ? 2 : 0>(source, advance, t, out);
  }

  // Resizes `count` rows: 1 or kRowsPerCall. The row after each is `advance` bytes later.
  static void run(const std::uint8_t* const* source, std::size_t count, std::ptrdiff_t advance, const ResizeTables& t,
                  std::uint8_t* const* out) {
    if (count == 1) return run_rows<1>(source, advance, t, out);
    run_rows<kRowsPerCall>(source, advance, t, out);
  }
};

#endif
