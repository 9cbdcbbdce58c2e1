#include "unstarve/codecs/jpeg/encode/entropy_encoder.h"

#include <algorithm>
#include <bit>

#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/codecs/jpeg/encode/entropy_encoder.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set: newer ones also count bits faster
#include <hwy/highway.h>

#ifndef UNSTARVE_COMPACTION
#define UNSTARVE_COMPACTION
namespace unstarve {

// By eight bits: the bytes of the 16-bit lanes whose bit is set, in their order, for a table look-up.
using Compaction = std::array<std::array<std::uint8_t, 16>, 256>;

constexpr Compaction make_compaction() {
  Compaction table{};
  for (std::size_t bits = 0; bits < 256; ++bits) {
    std::size_t at = 0;
    for (std::size_t lane = 0; lane < 8; ++lane) {
      if ((bits >> lane & 1) == 0) continue;
      table[bits][at++] = static_cast<std::uint8_t>(2 * lane);
      table[bits][at++] = static_cast<std::uint8_t>(2 * lane + 1);
    }
  }
  return table;
}

alignas(64) inline constexpr Compaction kCompaction = make_compaction();

}  // namespace unstarve
#endif

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Symbols = EntropyEncoder::Symbols;

constexpr int kPlaceShift = 8;
constexpr std::uint16_t kChroma = 128;
constexpr std::uint16_t kValueMask = 2 * ScanCodes::kSmall - 1;

constexpr std::uint64_t bit(int place) { return std::uint64_t{1} << place; }

// The places that need a symbol: `nonzero`, DC in any case, and every sixteenth of more than fifteen zeros in a row
// that a value follows: there the zero itself is stored (T.81, F.1.2.2: the symbol F0).
HWY_INLINE std::uint64_t stored_places(std::uint64_t nonzero) {
  std::uint64_t places = nonzero | 1;
  std::uint64_t near = places | places << 1;  // what lies at most fifteen behind
  near |= near << 2;
  near |= near << 4;
  near |= near << 8;
  const std::uint64_t up_to_last = ~std::uint64_t{0} >> std::countl_zero(places);
  std::uint64_t far = ~near & up_to_last;
  while (HWY_UNLIKELY(far != 0)) {  // its lowest bit is sixteen behind a place, and the next fifteen are near then
    const int place = std::countr_zero(far);
    places |= bit(place);
    far &= ~(std::uint64_t{0xFFFF} << place);
  }
  return places;
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

// Words of the places, in their order.
HWY_INLINE void compact(const std::int16_t* values, std::uint64_t places, std::uint16_t chroma, std::uint16_t* out) {
  for (; places != 0; places &= places - 1) {
    const int place = std::countr_zero(places);
    const int value = (values[place] + ScanCodes::kSmall) & kValueMask;
    *out++ = static_cast<std::uint16_t>(place << kPlaceShift | chroma | value);
  }
}

#else

#if HWY_TARGET == HWY_AVX3_DL

using DWords = hn::FixedTag<std::uint16_t, 32>;

// The lanes of `bits` first, in their order: one instruction.
HWY_INLINE hn::VFromD<DWords> compacted(hn::VFromD<DWords> words, std::uint32_t bits) {
  return hn::Compress(words, hn::LoadMaskBits(DWords(), reinterpret_cast<const std::uint8_t*>(&bits)));
}

#else

using DWords = hn::FixedTag<std::uint16_t, 8>;

// The same by a table: Highway's own is copied to the stack at each use by GCC 12.
HWY_INLINE hn::VFromD<DWords> compacted(hn::VFromD<DWords> words, std::uint32_t bits) {
  const hn::Repartition<std::uint8_t, DWords> bytes;
  return hn::TableLookupBytes(words, hn::BitCast(DWords(), hn::Load(bytes, kCompaction[bits & 0xFF].data())));
}

#endif

HWY_INLINE void compact(const std::int16_t* values, std::uint64_t places, std::uint16_t chroma, std::uint16_t* out) {
  const DWords d;
  constexpr std::size_t kLanes = hn::MaxLanes(DWords());
  auto place = hn::Or(hn::ShiftLeft<kPlaceShift>(hn::Iota(d, 0)), hn::Set(d, chroma));
  for (std::size_t i = 0; i < 64; i += kLanes) {
    const auto value =
        hn::Add(hn::LoadU(d, reinterpret_cast<const std::uint16_t*>(values + i)), hn::Set(d, ScanCodes::kSmall));
    const auto word = hn::Or(hn::And(value, hn::Set(d, kValueMask)), place);
    const auto bits = static_cast<std::uint32_t>(places >> i & ((std::uint64_t{1} << kLanes) - 1));
    hn::StoreU(compacted(word, bits), d, out);
    out += std::popcount(bits);
    place = hn::Add(place, hn::Set(d, kLanes << kPlaceShift));
  }
}

#endif

// Bit k: value k is not small.
HWY_INLINE std::uint64_t large_values(const std::int16_t* values) {
  std::uint64_t large = 0;
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  for (int i = 0; i < 64; ++i) {
    large |= std::uint64_t{static_cast<unsigned>(values[i] + ScanCodes::kSmall) > kValueMask} << i;
  }
#else
  const hn::CappedTag<std::uint16_t, 32> d;
  for (std::size_t i = 0; i < 64; i += hn::Lanes(d)) {
    const auto value = hn::LoadU(d, reinterpret_cast<const std::uint16_t*>(values + i));
    const auto above = hn::Gt(hn::Add(value, hn::Set(d, ScanCodes::kSmall)), hn::Set(d, kValueMask));
    std::uint32_t bits = 0;
    hn::StoreMaskBits(d, above, reinterpret_cast<std::uint8_t*>(&bits));
    large |= std::uint64_t{bits} << i;
  }
#endif
  return large;
}

HWY_INLINE void add_special(Symbols& symbols, std::size_t slot, std::uint32_t entry) {
  symbols.special[symbols.special_count++] = {static_cast<std::uint32_t>(slot), entry};
}

HWY_INLINE void collect_block(const std::int16_t* values, std::uint64_t nonzero, int& dc_before, bool chroma,
                              const ScanCodes& codes, Symbols& symbols) {
  const std::uint64_t places = stored_places(nonzero);
  const std::size_t start = symbols.count;
  compact(values, places, chroma ? kChroma : 0, symbols.words.data() + Symbols::kBefore + start);
  add_special(symbols, start, codes.dc_entry(chroma, values[0] - dc_before));
  dc_before = values[0];
  for (std::uint64_t large = large_values(values) & ~bit(0); HWY_UNLIKELY(large != 0); large &= large - 1) {
    const int place = std::countr_zero(large);
    const std::uint64_t below = places & (bit(place) - 1);
    const int run = place - (63 - std::countl_zero(below)) - 1;
    add_special(symbols, start + static_cast<std::size_t>(std::popcount(below)),
                codes.ac_entry(chroma, run, values[place]));
  }
  const std::size_t end = start + static_cast<std::size_t>(std::popcount(places));
  const std::size_t ends_early = places >> 63 == 0;
  symbols.special[symbols.special_count] = {static_cast<std::uint32_t>(end), codes.ac[chroma][ScanCodes::kEndOfBlock]};
  symbols.special_count += ends_early;
  symbols.count = end + ends_early;
}

// No change of DC, and the end.
HWY_INLINE void collect_empty_block(bool chroma, const ScanCodes& codes, Symbols& symbols) {
  add_special(symbols, symbols.count++, codes.dc[chroma][0]);
  add_special(symbols, symbols.count++, codes.ac[chroma][ScanCodes::kEndOfBlock]);
}

// Every slot's entry.
HWY_INLINE void look_up(const ScanCodes& codes, Symbols& symbols) {
  const std::uint32_t* table = codes.small.data();
  // The difference of the places is one more than the run; special slots give any number.
  constexpr unsigned kMask = (16u << kPlaceShift) - 1;
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  for (std::size_t i = 0; i < symbols.count; ++i) {
    const unsigned before = symbols.words[i] & 0xFF00u;
    symbols.entries[i] = table[(symbols.words[i + Symbols::kBefore] - before - (1u << kPlaceShift)) & kMask];
  }
#else
  const hn::CappedTag<std::uint16_t, 32> d;
  for (std::size_t i = 0; i < symbols.count; i += hn::Lanes(d)) {
    const auto before = hn::And(hn::LoadU(d, symbols.words.data() + i), hn::Set(d, 0xFF00));
    const auto word = hn::LoadU(d, symbols.words.data() + Symbols::kBefore + i);
    const auto index = hn::Sub(hn::Sub(word, before), hn::Set(d, 1u << kPlaceShift));
    hn::Store(hn::And(index, hn::Set(d, kMask)), d, symbols.indices.data() + i);
  }
  for (std::size_t i = 0; i < symbols.count; i += 8) {
    for (std::size_t j = i; j < i + 8; ++j) symbols.entries[j] = table[symbols.indices[j]];
  }
#endif
  for (std::size_t i = 0; i < symbols.special_count; ++i) {
    symbols.entries[symbols.special[i].slot] = symbols.special[i].entry;
  }
}

}  // namespace

// The symbols of MCUs first .. last - 1, at most Symbols::kMcus.
void make_symbols_on_target(const McuRow& row, std::size_t first, std::size_t last, const ScanCodes& codes,
                            std::array<int, 3>& dc, Symbols& symbols) {
  symbols.count = 0;
  symbols.special_count = 0;
  for (std::size_t mcu = first; mcu < last; ++mcu) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const McuBlocks& part = row[c];
      for (std::size_t y = 0; y < part.vertical; ++y) {
        for (std::size_t x = mcu * part.horizontal; x < (mcu + 1) * part.horizontal; ++x) {
          if (x < part.blocks && y < part.block_rows) {
            collect_block(part.rows[y]->values() + 64 * x, part.rows[y]->nonzero()[x], dc[c], c > 0, codes, symbols);
          } else {
            collect_empty_block(c > 0, codes, symbols);
          }
        }
      }
    }
  }
  look_up(codes, symbols);
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {
namespace {
HWY_EXPORT(make_symbols_on_target);
}

void EntropyEncoder::begin() {
  dc_ = {};
  packer_.begin();
}

std::size_t EntropyEncoder::append(const McuRow& row, std::size_t mcus, std::uint8_t* out) {
  const ScanCodes& codes = standard_codes();
  std::size_t written = 0;
  for (std::size_t first = 0; first < mcus; first += Symbols::kMcus) {
    const std::size_t last = std::min(mcus, first + Symbols::kMcus);
    HWY_DYNAMIC_DISPATCH(make_symbols_on_target)(row, first, last, codes, dc_, symbols_);
    written += packer_.append(symbols_.entries.data(), symbols_.count, symbols_.joined.data(), out + written);
  }
  return written;
}

}  // namespace unstarve
#endif
