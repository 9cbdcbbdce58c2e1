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
HWY_INLINE std::uint64_t look_up(const std::uint64_t* entries, const Table& table, std::uint64_t bits) {
  const std::uint64_t entry = entries[bits >> (64 - Table::kBits)];
  return HWY_UNLIKELY((entry & Table::kLong) != 0) ? look_up_long(table, bits) : entry;
}
template <class Table>
HWY_INLINE std::uint64_t look_up(const Table& table, std::uint64_t bits) {
  return look_up(table.entries(), table, bits);
}

// The number of a block's last coefficient. `number` is it at the block's end, or kEndOfBlock and the number of the last
// one that is there; anything else when the block was wrong, see wrong_end().
constexpr std::uint32_t kFull = 63;

// Takes the symbols of an AC entry; false at the block's end.
template <bool kKeep>
HWY_INLINE bool take(Bits& in, std::uint64_t entry, std::uint32_t& number, std::int16_t* group) {
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
}

// 0 unless the DC code does not exist, which goes on by another number than 1; no wrong AC code can make up for it.
HWY_INLINE std::uint32_t wrong_dc(std::uint64_t entry) {
  return (static_cast<std::uint32_t>(entry >> 24 & 255) - 1) << 8;
}

HWY_INLINE void add_to_dc(std::int32_t& dc, std::uint64_t bits, std::uint64_t entry) {
  dc = static_cast<std::int32_t>(static_cast<std::uint32_t>(dc) + static_cast<std::uint32_t>(value_of(bits, entry)));
}

// One block: its coefficients to `group` (kKeep) or nowhere. Returns its end, as `number` above.
template <bool kKeep>
HWY_INLINE std::uint32_t decode_block(Bits& in, const DcTable& dc_table, const AcTable& ac_table, std::int32_t& dc,
                                      std::int16_t* group) {
  std::uint32_t number = 0;
  const auto step = [&]() HWY_ATTR { return take<kKeep>(in, look_up(ac_table, in.bits), number, group); };

  // 56 bits hold two entries of 26 bits each, or a DC of 27 and an AC entry.
  in.refill();
  const std::uint64_t dc_entry = look_up(dc_table, in.bits);
  add_to_dc(dc, in.bits, dc_entry);
  in.consume(dc_entry);
  if constexpr (kKeep) group[0] = static_cast<std::int16_t>(dc);
  if (step()) {
    do {
      in.refill();
    } while (step() && step());
  }
  return number + wrong_dc(dc_entry);
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

// Two streams in turns, look-up by look-up: while one waits for where its block ends, the other goes on. What is needed
// per symbol is apart from what is needed per block, so that it stays in registers.
struct Lane {
  Bits in;
  std::uint32_t number;
  std::int16_t* group;
  const std::uint64_t* ac;
};

struct LaneBlock {
  const Mcu& mcu;
  const std::uint8_t* limit;
  std::array<std::int32_t, 3> dc;
  std::size_t at, end;  // MCUs
  int block;
  std::size_t place = 0;
  const AcTable* ac = nullptr;
  std::uint32_t wrong = 0, wrong_dc = 0;

  HWY_INLINE LaneBlock(const EntropyState& state, const Mcu& blocks, std::size_t first, std::size_t mcus,
                       const std::uint8_t* last)
      : mcu(blocks), limit(last), dc(state.dc), at(first - 1), end(mcus), block(blocks.count - 1) {}
};

// Goes on to the next block and reads its DC, with 56 bits afterwards; false at the end.
template <bool kKeep>
HWY_INLINE bool begin_block(Lane& lane, LaneBlock& of) {
  if (++of.block == of.mcu.count) {
    of.block = 0;
    if (of.wrong != 0 || ++of.at >= of.end || lane.in.next > of.limit) return false;
  }
  const McuBlock& block = of.mcu.blocks[static_cast<std::size_t>(of.block)];
  of.ac = block.ac;
  lane.ac = block.ac->entries();
  lane.number = 0;
  lane.in.refill();
  const std::uint64_t entry = look_up(*block.dc, lane.in.bits);
  std::int32_t& dc = of.dc[static_cast<std::size_t>(block.component)];
  add_to_dc(dc, lane.in.bits, entry);
  of.wrong_dc = wrong_dc(entry);
  lane.in.consume(entry);
  lane.in.refill();
  if constexpr (kKeep) {
    of.place = block.step * of.at + block.offset;
    lane.group = block.row->values() + CoefficientRow::place(of.place);
    lane.group[0] = static_cast<std::int16_t>(dc);
  }
  return true;
}

// One look-up, and on to the next block where it ends this one.
template <bool kKeep>
HWY_INLINE bool go_on(Lane& lane, LaneBlock& of) {
  if (HWY_LIKELY(take<kKeep>(lane.in, look_up(lane.ac, *of.ac, lane.in.bits), lane.number, lane.group))) return true;
  const std::uint32_t end = lane.number + of.wrong_dc;
  of.wrong |= wrong_end(end);
  if constexpr (kKeep) of.mcu.blocks[static_cast<std::size_t>(of.block)].row->last()[of.place] = end & 63;
  return begin_block<kKeep>(lane, of);
}

template <bool kKeep>
HWY_INLINE bool decode_two(EntropyState& first_state, EntropyState& second_state, const Mcu& first_mcu,
                           const Mcu& second_mcu, std::size_t first, std::size_t mcus, const std::uint8_t* first_limit,
                           const std::uint8_t* second_limit) {
  LaneBlock a_of(first_state, first_mcu, first, mcus, first_limit);
  LaneBlock b_of(second_state, second_mcu, first, mcus, second_limit);
  Lane a{{first_state.bits, first_state.count, first_state.next}, 0, nullptr, nullptr};
  Lane b{{second_state.bits, second_state.count, second_state.next}, 0, nullptr, nullptr};
  bool a_on = begin_block<kKeep>(a, a_of), b_on = begin_block<kKeep>(b, b_of);
  // 56 bits hold two entries of 26 bits each; a block that begins loads its own.
  while (a_on && b_on) {
    if (!(a_on = go_on<kKeep>(a, a_of))) break;
    if (!(b_on = go_on<kKeep>(b, b_of))) break;
    if (!(a_on = go_on<kKeep>(a, a_of))) break;
    a.in.refill();
    if (!(b_on = go_on<kKeep>(b, b_of))) break;
    b.in.refill();
  }
  while (a_on) {
    a.in.refill();
    a_on = go_on<kKeep>(a, a_of);
  }
  while (b_on) {
    b.in.refill();
    b_on = go_on<kKeep>(b, b_of);
  }
  first_state = {a.in.bits, a.in.count & 63, a.in.next, a_of.dc};
  second_state = {b.in.bits, b.in.count & 63, b.in.next, b_of.dc};
  return (a_of.wrong | b_of.wrong) == 0 && a_of.at == mcus && b_of.at == mcus;
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
// The same of two streams at once; true when all were right.
bool skip_two_on_target(EntropyState& one, EntropyState& two, const Mcu& mcu_one, const Mcu& mcu_two, std::size_t first,
                        std::size_t mcus, const std::uint8_t* limit_one, const std::uint8_t* limit_two) {
  return decode_two<false>(one, two, mcu_one, mcu_two, first, mcus, limit_one, limit_two);
}
bool keep_two_on_target(EntropyState& one, EntropyState& two, const Mcu& mcu_one, const Mcu& mcu_two, std::size_t first,
                        std::size_t mcus, const std::uint8_t* limit_one, const std::uint8_t* limit_two) {
  return decode_two<true>(one, two, mcu_one, mcu_two, first, mcus, limit_one, limit_two);
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {
namespace {
HWY_EXPORT(skip_on_target);
HWY_EXPORT(keep_on_target);
HWY_EXPORT(skip_two_on_target);
HWY_EXPORT(keep_two_on_target);
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

const std::uint8_t* EntropyDecoder::limit() const {
  return bytes_->data() + bytes_->segment_ends().back() + sizeof(std::uint64_t);
}

// Bits that do not exist were read as zeros.
bool EntropyDecoder::within_segment() const { return place().bit <= bytes_->segment_ends()[segment_] * 8; }

template <bool kKeep>
bool EntropyDecoder::run(std::size_t first, std::size_t mcus) {
  const std::size_t last = first + mcus;
  for (std::size_t done = first; done < last;) {
    if (!pass_restart()) return false;
    const std::size_t end = std::min(last, done + left_in_segment_);
    const std::size_t reached = kKeep ? HWY_DYNAMIC_DISPATCH(keep_on_target)(state_, *mcu_, done, end, limit())
                                      : HWY_DYNAMIC_DISPATCH(skip_on_target)(state_, *mcu_, done, end, limit());
    if (reached != end) return false;
    left_in_segment_ -= end - done;
    done = end;
  }
  return within_segment();
}

template <bool kKeep>
bool EntropyDecoder::run_two(EntropyDecoder& one, EntropyDecoder& two, std::size_t first, std::size_t mcus) {
  if (mcus == 0) return true;
  const std::size_t last = first + mcus;
  const bool right = kKeep ? HWY_DYNAMIC_DISPATCH(keep_two_on_target)(one.state_, two.state_, *one.mcu_, *two.mcu_,
                                                                      first, last, one.limit(), two.limit())
                           : HWY_DYNAMIC_DISPATCH(skip_two_on_target)(one.state_, two.state_, *one.mcu_, *two.mcu_,
                                                                      first, last, one.limit(), two.limit());
  one.left_in_segment_ -= mcus;
  two.left_in_segment_ -= mcus;
  return right && one.within_segment() && two.within_segment();
}

bool EntropyDecoder::skip_two(EntropyDecoder& one, EntropyDecoder& two, std::size_t mcus) {
  return run_two<false>(one, two, 0, mcus);
}
bool EntropyDecoder::keep_two(EntropyDecoder& one, EntropyDecoder& two, std::size_t first, std::size_t mcus) {
  return run_two<true>(one, two, first, mcus);
}

bool EntropyDecoder::skip(std::size_t mcus) { return run<false>(0, mcus); }
bool EntropyDecoder::keep(std::size_t first, std::size_t mcus) { return run<true>(first, mcus); }

bool EntropyDecoder::finish() const {
  constexpr int kEndOfImage = 0xD9;
  return ends_here() && segment_ + 1 == bytes_->segment_ends().size() && bytes_->end_marker() == kEndOfImage;
}

}  // namespace unstarve
#endif
