// The horizontal pass of a resize whose filter picks pixels (AxisFilter::picks()). Included by resize_kernels.cpp once
// per instruction set.
//
// One permutation picks the neighbouring output pixels that are within one vector of the input. The whole vector is
// stored; the next vector or row overwrites the bytes beyond these pixels.
namespace picks {

#if HWY_TARGET == HWY_AVX3_DL
constexpr std::size_t kVector = 32;  // bytes of a vector that one permutation can reorder
#else
constexpr std::size_t kVector = 16;
#endif

// `offsets`: per vector, those of its first input byte and first output byte; `indices`: the bytes it takes.
void prepare(const AxisFilter& filter, HorizontalTables& tables) {
  constexpr int kMaxPixelsPerVector = static_cast<int>(kVector) / kChannels;
  tables.offsets.clear();
  tables.indices.reserve_discard(static_cast<std::size_t>(filter.output()) * kVector);
  std::uint8_t* index = tables.indices.data();
  for (int x = 0; x < filter.output(); index += kVector) {
    const int first = x;
    tables.offsets.push_back(filter.first(first) * kChannels);
    tables.offsets.push_back(first * kChannels);
    std::memset(index, 0, kVector);
    for (; x < std::min(first + kMaxPixelsPerVector, filter.output()); ++x) {
      const int from = filter.first(x) - filter.first(first);
      if (from >= kMaxPixelsPerVector) break;
      for (int c = 0; c < kChannels; ++c)
        index[(x - first) * kChannels + c] = static_cast<std::uint8_t>(from * kChannels + c);
    }
  }
}

HWY_INLINE void pick(const std::uint8_t* from, const std::uint8_t* index, std::uint8_t* to) {
  const hn::FixedTag<std::uint8_t, kVector> d;
#if HWY_TARGET == HWY_AVX3_DL
  using V = hn::VFromD<decltype(d)>;
  hn::StoreU(V{_mm256_permutexvar_epi8(hn::Load(d, index).raw, hn::LoadU(d, from).raw)}, d, to);
#else
  hn::StoreU(hn::TableLookupBytes(hn::LoadU(d, from), hn::Load(d, index)), d, to);
#endif
}

void run(const std::uint8_t* row, const HorizontalTables& tables, std::uint8_t* out) {
  const std::uint8_t* index = tables.indices.data();
  const std::int32_t* const end = tables.offsets.data() + tables.offsets.size();
  for (const std::int32_t* offset = tables.offsets.data(); offset != end; offset += 2, index += kVector)
    pick(row + offset[0], index, out + offset[1]);
}

}  // namespace picks
