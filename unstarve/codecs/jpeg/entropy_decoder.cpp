#include "unstarve/codecs/jpeg/entropy_decoder.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/codecs/jpeg/entropy_decoder.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set: BMI2's shifts matter here
#include <hwy/highway.h>

#ifndef UNSTARVE_ENTROPY_TABLES
#define UNSTARVE_ENTROPY_TABLES
namespace unstarve::entropy {

// From a coefficient's number in zigzag order (T.81, figure 5) to its place in a group. Numbers of 64 and more come
// from the end of a block and from damage; they go to the unused place behind the group's coefficients.
struct Places {
  std::uint16_t of[256];
  constexpr Places() : of() {
    constexpr std::uint16_t kUnused = 64 * CoefficientRow::kGroupBlocks;
    int x = 0, y = 0;
    for (int i = 0; i < 64; ++i) {
      of[i] = static_cast<std::uint16_t>(y * 8 * static_cast<int>(CoefficientRow::kGroupBlocks) + x);
      const bool up = (x + y) % 2 == 0;
      if (up) {
        if (x == 7)
          ++y;
        else if (y == 0)
          ++x;
        else
          ++x, --y;
      } else {
        if (y == 7)
          ++x;
        else if (x == 0)
          ++y;
        else
          --x, ++y;
      }
    }
    for (int i = 64; i < 256; ++i) of[i] = kUnused;
  }
};
inline constexpr Places kPlaces;

}  // namespace unstarve::entropy
#endif

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

// The state in registers. Of `count` only the low six bits mean something, which is what shifts take: one instruction
// less between two look-ups.
struct Bits {
  std::uint64_t bits;
  std::uint64_t count;
  const std::uint8_t* next;

  // At least 56 bits afterwards. After F. Giesen, "Reading bits in far too many ways (part 2)", variant 4: bits beyond
  // `count` are right too, so that loading them again changes nothing.
  HWY_INLINE void refill() {
    std::uint64_t word;
    std::memcpy(&word, next, sizeof(word));
    static_assert(std::endian::native == std::endian::little);
    word = __builtin_bswap64(word);
    bits |= word >> (count & 63);
    next += (~count & 63) >> 3;
    count |= 56;
  }
  HWY_INLINE void consume(std::uint64_t entry) {
    bits <<= entry & 63;
    count -= entry;
  }
};

// The value of the symbol that `bits` begins with: T.81's EXTEND. Without value bits it is 0.
HWY_INLINE int value_of(std::uint64_t bits, std::uint64_t entry) {
  const std::uint64_t from_value = bits << (entry >> 8 & 63);
  // All ones when the first bit is 0, which means negative.
  const std::uint64_t negative = ~static_cast<std::uint64_t>(static_cast<std::int64_t>(from_value) >> 63);
  const std::uint64_t magnitude = ((from_value ^ negative) >> 1) >> (entry >> 16 & 63);
  return static_cast<int>(magnitude ^ negative) - static_cast<int>(negative);
}

// The entry of a longer code; without one, an entry that ends the block at a number that no right block ends with.
template <class Table>
HWY_NOINLINE std::uint64_t look_up_long(const Table& table, std::uint64_t bits) {
  constexpr std::uint64_t kWrong = 64;  // neither 1 of a DC entry nor, added to any number, a right end
  const std::uint64_t entry = table.decode_long(bits);
  return entry != 0 ? entry : kWrong << 24 | kWrong << 48 | 63u << 16;
}

template <class Table>
HWY_INLINE std::uint64_t look_up(const Table& table, std::uint64_t bits) {
  const std::uint64_t entry = table.entries()[bits >> (64 - Table::kBits)];
  return HWY_UNLIKELY((entry & Table::kLong) != 0) ? look_up_long(table, bits) : entry;
}

// One block: its coefficients to `group` (kKeep) or nowhere. Returns kFull, or kEndOfBlock and the number of its last
// coefficient; anything else when the block was wrong, see wrong_end().
constexpr std::uint32_t kFull = 63;

template <bool kKeep>
HWY_INLINE std::uint32_t decode_block(Bits& in, const DcTable& dc_table, const AcTable& ac_table, std::int32_t& dc,
                                      std::int16_t* group) {
  std::uint32_t number = 0;
  const auto step = [&]() HWY_ATTR {
    const std::uint64_t entry = look_up(ac_table, in.bits);
    const std::uint32_t first = number + static_cast<std::uint32_t>(entry >> 24 & 255);
    number += static_cast<std::uint32_t>(entry >> 48 & 255);
    if (HWY_UNLIKELY(first == kFull)) {
      // What would be the second symbol is the next block's.
      if constexpr (kKeep) group[entropy::kPlaces.of[kFull]] = static_cast<std::int16_t>(value_of(in.bits, entry));
      in.consume(entry >> 40);
      number = kFull;
      return false;
    }
    if constexpr (kKeep) {
      // Without a second symbol both have the same place, and the first is right.
      group[entropy::kPlaces.of[number]] = static_cast<std::int16_t>(static_cast<std::int64_t>(entry) >> 56);
      group[entropy::kPlaces.of[first]] = static_cast<std::int16_t>(value_of(in.bits, entry));
    }
    in.consume(entry);
    return number < kFull;
  };

  // 56 bits hold two entries of 26 bits each, or a DC of 27 and an AC entry.
  in.refill();
  const std::uint64_t dc_entry = look_up(dc_table, in.bits);
  dc = static_cast<std::int32_t>(static_cast<std::uint32_t>(dc) +
                                 static_cast<std::uint32_t>(value_of(in.bits, dc_entry)));
  in.consume(dc_entry);
  if constexpr (kKeep) group[0] = static_cast<std::int16_t>(dc);
  if (step()) {
    do {
      in.refill();
    } while (step() && step());
  }
  // A DC code that does not exist goes on by another number than 1, for which no wrong AC code may make up.
  return number + ((static_cast<std::uint32_t>(dc_entry >> 24 & 255) - 1) << 8);
}

// Whether decode_block() came to no right end, 0 or 1.
HWY_INLINE std::uint32_t wrong_end(std::uint32_t end) {
  return static_cast<std::uint32_t>(!(end == kFull || end - AcTable::kEndOfBlock < kFull));
}

template <bool kKeep>
HWY_INLINE std::size_t decode(EntropyState& state, const Mcu& mcu, std::size_t first, std::size_t mcus,
                              const std::uint8_t* limit) {
  Bits in{state.bits, state.count, state.next};
  std::array<std::int32_t, 3> dc = state.dc;
  const int blocks = mcu.count;
  std::size_t i = first;
  for (; i < mcus && in.next <= limit; ++i) {
    std::uint32_t wrong = 0;
    for (int b = 0; b < blocks; ++b) {
      const McuBlock& block = mcu.blocks[static_cast<std::size_t>(b)];
      std::int32_t& sum = dc[static_cast<std::size_t>(block.component)];
      if constexpr (!kKeep) {
        wrong |= wrong_end(decode_block<false>(in, *block.dc, *block.ac, sum, nullptr));
        continue;
      }
      const std::size_t place = block.step * i + block.offset;
      std::int16_t* const group = block.row->values() + CoefficientRow::place(place);
      if (HWY_UNLIKELY(block.dc_only)) {
        wrong |= wrong_end(decode_block<false>(in, *block.dc, *block.ac, sum, nullptr));
        group[0] = static_cast<std::int16_t>(sum);
        block.row->last()[place] = 0;
        continue;
      }
      const std::uint32_t end = decode_block<true>(in, *block.dc, *block.ac, sum, group);
      wrong |= wrong_end(end);
      block.row->last()[place] = end & 63;
    }
    if (HWY_UNLIKELY(wrong != 0)) break;
  }
  state.bits = in.bits;
  state.count = in.count & 63;
  state.next = in.next;
  state.dc = dc;
  return i;
}

}  // namespace

// Decodes MCUs first .. mcus - 1; returns the number of the first that was wrong or began behind `limit`, else mcus.
std::size_t skip_on_target(EntropyState& state, const Mcu& mcu, std::size_t first, std::size_t mcus,
                           const std::uint8_t* limit) {
  return decode<false>(state, mcu, first, mcus, limit);
}
std::size_t keep_on_target(EntropyState& state, const Mcu& mcu, std::size_t first, std::size_t mcus,
                           const std::uint8_t* limit) {
  return decode<true>(state, mcu, first, mcus, limit);
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {
namespace {
HWY_EXPORT(skip_on_target);
HWY_EXPORT(keep_on_target);
}  // namespace

void EntropyDecoder::start(const EntropyBytes& bytes, const Mcu& mcu, int restart_interval, std::size_t mcus) {
  bytes_ = &bytes;
  mcu_ = &mcu;
  interval_ = restart_interval > 0 ? static_cast<std::size_t>(restart_interval) : mcus;
  segment_ = 0;
  enter_segment();
}

void EntropyDecoder::start_at(const EntropyBytes& bytes, const Mcu& mcu, int restart_interval, std::size_t mcus,
                              std::size_t first, const EntropyPlace& place) {
  start(bytes, mcu, restart_interval, mcus);
  left_in_segment_ -= first % interval_;
  state_.dc = place.dc;
  // As after a refill of which `bit` bits are consumed.
  constexpr std::size_t kLoaded = sizeof(std::uint64_t) - 1;
  for (std::size_t i = 0; i <= kLoaded; ++i) state_.bits = state_.bits << 8 | state_.next[i];
  state_.bits <<= place.bit;
  state_.count = 8 * kLoaded - place.bit;
  state_.next += kLoaded;
}

EntropyPlace EntropyDecoder::place() const {
  return {static_cast<std::size_t>(state_.next - bytes_->data()) * 8 - state_.count, state_.dc};
}

void EntropyDecoder::enter_segment() {
  state_ = {};
  state_.next = bytes_->data() + (segment_ == 0 ? 0 : bytes_->segment_ends()[segment_ - 1]);
  left_in_segment_ = interval_;
}

// All bits of the segment are used up but for those that fill its last byte.
bool EntropyDecoder::ends_here() const {
  const std::size_t loaded = static_cast<std::size_t>(state_.next - bytes_->data()) * 8;
  const std::size_t used = loaded - state_.count;
  const std::size_t end = bytes_->segment_ends()[segment_] * 8;
  return used <= end && end - used < 8;
}

bool EntropyDecoder::pass_restart() {
  if (left_in_segment_ > 0) return true;
  if (!ends_here() || segment_ + 1 == bytes_->segment_ends().size()) return false;
  ++segment_;
  enter_segment();
  return true;
}

template <bool kKeep>
bool EntropyDecoder::run(std::size_t first, std::size_t mcus) {
  const std::uint8_t* const limit = bytes_->data() + bytes_->segment_ends().back() + sizeof(std::uint64_t);
  const std::size_t last = first + mcus;
  for (std::size_t done = first; done < last;) {
    if (!pass_restart()) return false;
    const std::size_t end = std::min(last, done + left_in_segment_);
    const std::size_t reached = kKeep ? HWY_DYNAMIC_DISPATCH(keep_on_target)(state_, *mcu_, done, end, limit)
                                      : HWY_DYNAMIC_DISPATCH(skip_on_target)(state_, *mcu_, done, end, limit);
    if (reached != end) return false;
    left_in_segment_ -= end - done;
    done = end;
  }
  // Bits that do not exist were read as zeros.
  return place().bit <= bytes_->segment_ends()[segment_] * 8;
}

bool EntropyDecoder::skip(std::size_t mcus) { return run<false>(0, mcus); }
bool EntropyDecoder::keep(std::size_t first, std::size_t mcus) { return run<true>(first, mcus); }

bool EntropyDecoder::finish() const {
  constexpr int kEndOfImage = 0xD9;
  return ends_here() && segment_ + 1 == bytes_->segment_ends().size() && bytes_->end_marker() == kEndOfImage;
}

}  // namespace unstarve
#endif
