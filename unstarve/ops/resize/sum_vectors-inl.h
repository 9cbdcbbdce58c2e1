// Vectors of sums and their conversion to bytes. Included by resize_kernels.cpp once per instruction set.

// On x86 a 16-bit multiply-add sums neighbouring products, so the rounding constant can be the first summand.
// Elsewhere products are accumulated in two vectors, and pairs are summed at the end.
constexpr bool kSumsPairs = HWY_ARCH_X86;

template <std::size_t kBytes>
struct Vectors {
  using D8 = hn::FixedTag<std::uint8_t, kBytes>;
  using D16 = hn::FixedTag<std::int16_t, kBytes / 2>;
  using D32 = hn::FixedTag<std::int32_t, kBytes / 4>;
  using V8 = hn::VFromD<D8>;
  using V16 = hn::VFromD<D16>;
  using V32 = hn::VFromD<D32>;

  struct Sum {
    V32 first;
    V32 second;

    HWY_INLINE Sum() = default;
    explicit HWY_INLINE Sum(V32 rounding) : first(kSumsPairs ? rounding : hn::Zero(D32())), second(hn::Zero(D32())) {}
    HWY_INLINE void add(V16 values, V16 weights) {
#if HWY_TARGET == HWY_AVX3_DL
      // Products and sum in one instruction, which Highway does not offer.
      asm("vpdpwssd %2, %1, %0" : "+v"(first.raw) : "v"(values.raw), "v"(weights.raw));
#else
      first = hn::ReorderWidenMulAccumulate(D32(), values, weights, first, second);
#endif
    }
    HWY_INLINE V32 finish(V32 rounding, int bits) const {
      const V32 sum = kSumsPairs ? first : hn::Add(hn::RearrangeToOddPlusEven(first, second), rounding);
      return hn::ShiftRightSame(sum, bits);
    }
  };

  // Converts four vectors of 32-bit values to bytes, clipped to 0..255; each 128-bit block holds those of a, b, c, d.
  static HWY_INLINE V8 narrow(V32 a, V32 b, V32 c, V32 d) {
    return to_bytes(D8(), hn::ReorderDemote2To(D16(), a, b), hn::ReorderDemote2To(D16(), c, d));
  }
};
