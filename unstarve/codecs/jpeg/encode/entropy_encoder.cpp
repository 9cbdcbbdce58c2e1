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

// For each value of eight bits: the bytes of the 16-bit lanes whose bit is set, in order, for a table look-up.
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

constexpr int kPositionShift = 8;
constexpr std::uint16_t kChroma = 128;
constexpr std::uint16_t kValueMask = 2 * ScanCodes::kSmall - 1;

constexpr std::uint64_t bit(int position) { return std::uint64_t{1} << position; }

// The positions that need a symbol: nonzero values, DC always, and every sixteenth zero of a run of more than fifteen
// that precedes a value: that zero is stored itself (T.81, F.1.2.2: the symbol F0).
HWY_INLINE std::uint64_t stored_positions(std::uint64_t nonzero) {
  std::uint64_t positions = nonzero | 1;
  std::uint64_t near = positions | positions << 1;  // positions at most fifteen after one of these
  near |= near << 2;
  near |= near << 4;
  near |= near << 8;
  const std::uint64_t up_to_last = ~std::uint64_t{0} >> std::countl_zero(positions);
  std::uint64_t far = ~near & up_to_last;
  while (HWY_UNLIKELY(far != 0)) {  // its lowest bit is sixteen after a position; the next fifteen are then near
    const int position = std::countr_zero(far);
    positions |= bit(position);
    far &= ~(std::uint64_t{0xFFFF} << position);
  }
  return positions;
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

// The words of the positions, in order.
HWY_INLINE void compact(const std::int16_t* values, std::uint64_t positions, std::uint16_t chroma, std::uint16_t* out) {
  for (; positions != 0; positions &= positions - 1) {
    const int position = std::countr_zero(positions);
    const int value = (values[position] + ScanCodes::kSmall) & kValueMask;
    *out++ = static_cast<std::uint16_t>(position << kPositionShift | chroma | value);
  }
}

#else

#if HWY_TARGET == HWY_AVX3_DL

using DWords = hn::FixedTag<std::uint16_t, 32>;

// Moves the lanes in `bits` to the front, in order: one instruction.
HWY_INLINE hn::VFromD<DWords> compacted(hn::VFromD<DWords> words, std::uint32_t bits) {
  return hn::Compress(words, hn::LoadMaskBits(DWords(), reinterpret_cast<const std::uint8_t*>(&bits)));
}

#else

using DWords = hn::FixedTag<std::uint16_t, 8>;

// The same by a table, because GCC 12 copies Highway's own table to the stack at each use.
HWY_INLINE hn::VFromD<DWords> compacted(hn::VFromD<DWords> words, std::uint32_t bits) {
  const hn::Repartition<std::uint8_t, DWords> bytes;
  return hn::TableLookupBytes(words, hn::BitCast(DWords(), hn::Load(bytes, kCompaction[bits & 0xFF].data())));
}

#endif

HWY_INLINE void compact(const std::int16_t* values, std::uint64_t positions, std::uint16_t chroma, std::uint16_t* out) {
  const DWords d;
  constexpr std::size_t kLanes = hn::MaxLanes(DWords());
  auto position = hn::Or(hn::ShiftLeft<kPositionShift>(hn::Iota(d, 0)), hn::Set(d, chroma));
  for (std::size_t i = 0; i < 64; i += kLanes) {
    const auto value =
        hn::Add(hn::LoadU(d, reinterpret_cast<const std::uint16_t*>(values + i)), hn::Set(d, ScanCodes::kSmall));
    const auto word = hn::Or(hn::And(value, hn::Set(d, kValueMask)), position);
    const auto bits = static_cast<std::uint32_t>(positions >> i & ((std::uint64_t{1} << kLanes) - 1));
    hn::StoreU(compacted(word, bits), d, out);
    out += std::popcount(bits);
    position = hn::Add(position, hn::Set(d, kLanes << kPositionShift));
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
  const std::uint64_t positions = stored_positions(nonzero);
  const std::size_t start = symbols.count;
  compact(values, positions, chroma ? kChroma : 0, symbols.words.data() + Symbols::kBefore + start);
  add_special(symbols, start, codes.dc_entry(chroma, values[0] - dc_before));
  dc_before = values[0];
  for (std::uint64_t large = large_values(values) & ~bit(0); HWY_UNLIKELY(large != 0); large &= large - 1) {
    const int position = std::countr_zero(large);
    const std::uint64_t below = positions & (bit(position) - 1);
    const int run = position - (63 - std::countl_zero(below)) - 1;
    add_special(symbols, start + static_cast<std::size_t>(std::popcount(below)),
                codes.ac_entry(chroma, run, values[position]));
  }
  const std::size_t end = start + static_cast<std::size_t>(std::popcount(positions));
  const std::size_t ends_early = positions >> 63 == 0;
  symbols.special[symbols.special_count] = {static_cast<std::uint32_t>(end), codes.ac[chroma][ScanCodes::kEndOfBlock]};
  symbols.special_count += ends_early;
  symbols.count = end + ends_early;
}

// An unchanged DC and an end of block.
HWY_INLINE void collect_empty_block(bool chroma, const ScanCodes& codes, Symbols& symbols) {
  add_special(symbols, symbols.count++, codes.dc[chroma][0]);
  add_special(symbols, symbols.count++, codes.ac[chroma][ScanCodes::kEndOfBlock]);
}

// Looks up the entries of all slots.
HWY_INLINE void look_up(const ScanCodes& codes, Symbols& symbols) {
  const std::uint32_t* table = codes.small.data();
  // The difference of two positions is the run plus one; the results of special slots are overwritten below.
  constexpr unsigned kMask = (16u << kPositionShift) - 1;
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  for (std::size_t i = 0; i < symbols.count; ++i) {
    const unsigned before = symbols.words[i] & 0xFF00u;
    symbols.entries[i] = table[(symbols.words[i + Symbols::kBefore] - before - (1u << kPositionShift)) & kMask];
  }
#else
  const hn::CappedTag<std::uint16_t, 32> d;
  for (std::size_t i = 0; i < symbols.count; i += hn::Lanes(d)) {
    const auto before = hn::And(hn::LoadU(d, symbols.words.data() + i), hn::Set(d, 0xFF00));
    const auto word = hn::LoadU(d, symbols.words.data() + Symbols::kBefore + i);
    const auto index = hn::Sub(hn::Sub(word, before), hn::Set(d, 1u << kPositionShift));
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

// The symbols of MCUs first .. last - 1, at most Symbols::kMcus of them.
void make_symbols_on_target(const McuRowBlocks& row, std::size_t first, std::size_t last, const ScanCodes& codes,
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

std::size_t EntropyEncoder::append(const McuRowBlocks& row, std::size_t mcus, std::uint8_t* out) {
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
