// The vertical pass of a resize. Included by resize_kernels.cpp once per instruction set.

// Row `y` of the result: a weighted sum of t.rows, of `bytes` bytes each, byte by byte.
// kPairs 0: any number of pairs of taps.
template <std::size_t kBytes, std::size_t kPairs>
HWY_INLINE void vertical_row(const ResizeTables& t, int y, std::size_t bytes, std::uint8_t* HWY_RESTRICT out) {
  using V = Vectors<kBytes>;
  using V8 = typename V::V8;
  using V16 = typename V::V16;
  using V32 = typename V::V32;
  const typename V::D8 d8;
  const typename V::D16 d16;
  const typename V::D32 d32;
  const std::uint8_t* const* HWY_RESTRICT rows = t.rows.data();
  const std::int16_t* HWY_RESTRICT weights = t.vertical.weights(y);
  const std::size_t pairs = kPairs != 0 ? kPairs : static_cast<std::size_t>(t.vertical.taps()) / 2;
  const int bits = t.vertical.fraction_bits();
  const V8 zero = hn::Zero(d8);
  const V32 rounding = hn::Set(d32, 1 << (bits - 1));
  const auto weight_pair = [&](std::size_t p) HWY_ATTR {
    std::int32_t both;
    std::memcpy(&both, weights + 2 * p, sizeof(both));
    return hn::BitCast(d16, hn::Set(d32, both));
  };

  for (std::size_t x = 0; x < bytes; x += kBytes) {
    // The last vector overlaps the one before. A row shorter than a vector is followed by readable bytes; the next row
    // overwrites what is written there.
    if (x + kBytes > bytes) x = bytes > kBytes ? bytes - kBytes : 0;
    typename V::Sum s0(rounding), s1(rounding), s2(rounding), s3(rounding);
    for (std::size_t p = 0; p < pairs; ++p) {
      const V8 a = hn::LoadU(d8, rows[2 * p] + x);
      const V8 b = hn::LoadU(d8, rows[2 * p + 1] + x);
      const V16 w = weight_pair(p);
      const V8 lower = hn::InterleaveLower(d8, a, b);
      const V8 upper = hn::InterleaveUpper(d8, a, b);
      s0.add(hn::BitCast(d16, hn::InterleaveLower(d8, lower, zero)), w);
      s1.add(hn::BitCast(d16, hn::InterleaveUpper(d8, lower, zero)), w);
      s2.add(hn::BitCast(d16, hn::InterleaveLower(d8, upper, zero)), w);
      s3.add(hn::BitCast(d16, hn::InterleaveUpper(d8, upper, zero)), w);
    }
    const V8 sums = V::narrow(s0.finish(rounding, bits), s1.finish(rounding, bits), s2.finish(rounding, bits),
                              s3.finish(rounding, bits));
    hn::StoreU(sums, d8, out + x);
  }
}

// The same in vectors of kBytes.
template <std::size_t kBytes>
void vertical_pass(const ResizeTables& t, int y, std::size_t bytes, std::uint8_t* out) {
  switch (t.vertical.taps() / 2) {
    case 1: return vertical_row<kBytes, 1>(t, y, bytes, out);
    case 2: return vertical_row<kBytes, 2>(t, y, bytes, out);
    case 3: return vertical_row<kBytes, 3>(t, y, bytes, out);
    default: return vertical_row<kBytes, 0>(t, y, bytes, out);
  }
}
