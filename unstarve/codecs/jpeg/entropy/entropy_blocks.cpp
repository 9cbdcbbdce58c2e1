#include "unstarve/codecs/jpeg/entropy/entropy_blocks.h"

#include <array>
#include <bit>
#include <cstring>

#include "unstarve/core/memory/sanitizers.h"
#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/codecs/jpeg/entropy/entropy_blocks.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set: BMI2's shifts matter here
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

static_assert(std::endian::native == std::endian::little);
// DC's number is its slot. A block's end advances to the next slot, which is still zero.
static_assert((-63 & 63) == CoefficientRow::kDc && HuffmanEntry::kEndOfBlock % 64 == 1);
// The minimum number after an end of block, directly after DC, exceeds the maximum overrun by a run of 15 zeros and a
// value.
static_assert(EntropyBlocks::kEarly == HuffmanEntry::kEndOfBlock - 63 && 16 < EntropyBlocks::kEarly);

// A lane's progress: in block number `block`, after the coefficient of number `before`.
struct Reached {
  std::size_t block = 0;
  std::int64_t before = 0;
};

// Not under sanitizers, which do not check the memory accesses of inline assembly.
#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX2 && !UNSTARVE_ASAN && !UNSTARVE_MSAN

// The loops of the C++ version below in 24 instructions per look-up, or 25 with two lanes. Compilers turn the
// selections into branches or spill half of the state.
//
// Registers:
//   index     the look-up's index        entry     bits of the entry; then the block's values
//   first     number of the first symbol's coefficient, then its slot      number    of the last symbol's
//
// Local labels: 1 the loop, 2 its end, 3 invalid data, N0 and N1 of step N: a rare entry, and the return. L: the lane.

// Offsets that the instructions contain as numbers, because an asm statement cannot have more operands.
static_assert(offsetof(EntropyBlocks, dc) == 0 && offsetof(EntropyBlocks::Lane, values) == 0);
static_assert(offsetof(EntropyBlocks, limit) == offsetof(EntropyBlocks, end) + 8);
static_assert(offsetof(EntropyBlocks, before_dc) == offsetof(EntropyBlocks, end) + 16);
static_assert(offsetof(EntropyBlocks, at) == offsetof(EntropyBlocks, end) + 24);
static_assert(offsetof(EntropyBlocks, last) == offsetof(EntropyBlocks, end) + 40);
static_assert(offsetof(HuffmanEntries, bits) == 0 && offsetof(HuffmanEntries, first) == HuffmanEntries::kCount);
static_assert(offsetof(HuffmanEntries, both) == 2 * HuffmanEntries::kCount);
static_assert(offsetof(HuffmanEntries, second) == 3 * HuffmanEntries::kCount);
static_assert(offsetof(HuffmanEntries, value) == 4 * HuffmanEntries::kCount);
static_assert(offsetof(HuffmanEntries::Value, base) == 2);
static_assert(HuffmanTable::kBits == 10 && HuffmanEntry::kSecond == 64);

// clang-format off
// One lane keeps its stream position and the list of values in registers.
//
// Refill to at least 56 bits. After F. Giesen, "Reading bits in far too many ways (part 2)", variant 4: bits beyond
// `count` are correct too, so that loading them again changes nothing.
#define UNSTARVE_ONE_REFILL(WORD, BYTES)                                                      \
  "mov (%[next]), %[" #WORD "]\n\t"                                                           \
  "mov %[count], %[" #BYTES "]\n\t"                                                           \
  "bswap %[" #WORD "]\n\t"                                                                    \
  "shrx %[count], %[" #WORD "], %[" #WORD "]\n\t"                                             \
  "xor $63, %k[" #BYTES "]\n\t"                                                               \
  "or %[" #WORD "], %[bits0]\n\t"                                                             \
  "shr $3, %[" #BYTES "]\n\t"                                                                 \
  "or $56, %[count]\n\t"                                                                      \
  "add %[" #BYTES "], %[next]\n\t"
#define UNSTARVE_ONE_INDEX "shrx %[shift], %[bits0], %[index]\n\t"
#define UNSTARVE_ONE_CONSUME(L) "sub %[entry], %[count]\n\t"
#define UNSTARVE_ONE_REFILL_BEHIND_10(L)                                                      \
  "shl $10, %[bits0]\n\t"                                                                     \
  "sub $10, %[count]\n\t"                                                                     \
  UNSTARVE_ONE_REFILL(index, entry)
#define UNSTARVE_ONE_VALUES(L) "(%[lane],%[block0],8)"
#define UNSTARVE_ONE_ENDS(L) "%c[ends](%[lane],%[block0])"

// Two lanes do not have enough registers: the position of the next bit is in memory, and a refill loads all bits.
#define UNSTARVE_TWO_REFILL(L)                                                                \
  "mov 24+8*" #L "+%c[end](%[blocks]), %[index]\n\t"                                          \
  "mov %[index], %[entry]\n\t"                                                                \
  "shr $3, %[entry]\n\t"                                                                      \
  "and $7, %k[index]\n\t"                                                                     \
  "mov (%[entry]), %[bits" #L "]\n\t"                                                         \
  "bswap %[bits" #L "]\n\t"                                                                   \
  "shlx %[index], %[bits" #L "], %[bits" #L "]\n\t"
#define UNSTARVE_TWO_INDEX(L)                                                                 \
  "mov %[bits" #L "], %[index]\n\t"                                                           \
  "shr $54, %[index]\n\t"
#define UNSTARVE_TWO_CONSUME(L) "add %[entry], 24+8*" #L "+%c[end](%[blocks])\n\t"
#define UNSTARVE_TWO_REFILL_BEHIND_10(L)                                                      \
  "addq $10, 24+8*" #L "+%c[end](%[blocks])\n\t"                                              \
  UNSTARVE_TWO_REFILL(L)
#define UNSTARVE_TWO_VALUES(L) "%c[lane" #L "](%[blocks],%[block" #L "],8)"
#define UNSTARVE_TWO_ENDS(L) "%c[ends]+%c[lane" #L "](%[blocks],%[block" #L "])"
#define UNSTARVE_TWO_STEP(N, L)                                                               \
  UNSTARVE_TWO_INDEX(L)                                                                       \
  UNSTARVE_STEP(N, L, UNSTARVE_TWO_, UNSTARVE_LOAD_SECOND, UNSTARVE_STORE_SECOND)

// Loads and stores the second symbol's value. For skipped blocks only DC is needed, which is never second: one lane
// omits these instructions, two lanes write the value where it does no harm (mcu_row.h).
#define UNSTARVE_LOAD_SECOND(L) "movsbl 3*%c[field](%[table" #L "],%[index]), %k[index]\n\t"
#define UNSTARVE_STORE_SECOND                                                                 \
  "and $63, %k[number]\n\t"                                                                  \
  "movw %w[index], (%[entry],%[number],2)\n\t"
#define UNSTARVE_NO_SECOND(...)

#define UNSTARVE_STEP(N, L, LANES, LOAD_SECOND, STORE_SECOND)                                 \
  "movzbl (%[table" #L "],%[index]), %k[entry]\n\t"                                           \
  "movzbl %c[field](%[table" #L "],%[index]), %k[first]\n\t"                                  \
  "movzbl 2*%c[field](%[table" #L "],%[index]), %k[number]\n\t"                               \
  "add %[before" #L "], %[first]\n\t"                                                         \
  "jns " #N "0f\n"                                                                            \
  #N "1:\n\t"                                                                                 \
  "movzwl 4*%c[field](%[table" #L "],%[index],4), %k[value]\n\t"                              \
  "bextr %[value], %[bits" #L "], %[value]\n\t"                                               \
  "addw 2+4*%c[field](%[table" #L "],%[index],4), %w[value]\n\t"                              \
  LOAD_SECOND(L)                                                                              \
  "shlx %[entry], %[bits" #L "], %[bits" #L "]\n\t"                                           \
  LANES##CONSUME(L)                                                                           \
  "mov " LANES##VALUES(L) ", %[entry]\n\t"                                                    \
  "mov %c[ac](%[blocks],%[block" #L "],8), %[table" #L "]\n\t"                                \
  "add %[before" #L "], %[number]\n\t"                                                        \
  "cmovc 8(%[blocks],%[block" #L "],8), %[table" #L "]\n\t"                                   \
  "mov %[number], %[before" #L "]\n\t"                                                        \
  "cmovc 16+%c[end](%[blocks]), %[before" #L "]\n\t"                                          \
  "movb %b[number], " LANES##ENDS(L) "\n\t"                                                   \
  "adc $0, %[block" #L "]\n\t"                                                                \
  STORE_SECOND                                                                                \
  "and $63, %k[first]\n\t"                                                                   \
  "movw %w[value], (%[entry],%[first],2)\n\t"

// The first symbol reaches or exceeds the block's last coefficient. For a second table: consumes the first table's bits
// and looks up there. For the last coefficient: uses only the first symbol. Otherwise the data is invalid.
#define UNSTARVE_RARE(N, L, LANES)                                                            \
  #N "0:\n\t"                                                                                 \
  "cmpb $64, %c[field](%[table" #L "],%[index])\n\t"                                          \
  "jne " #N "2f\n\t"                                                                          \
  "movzwl 2+4*%c[field](%[table" #L "],%[index],4), %k[first]\n\t"                            \
  "movzbl 4*%c[field](%[table" #L "],%[index],4), %k[number]\n\t"                             \
  LANES##REFILL_BEHIND_10(L)                                                                  \
  "shrx %[number], %[bits" #L "], %[index]\n\t"                                               \
  "add %[first], %[index]\n\t"                                                                \
  "movzbl (%[table" #L "],%[index]), %k[entry]\n\t"                                           \
  "movzbl %c[field](%[table" #L "],%[index]), %k[first]\n\t"                                  \
  "movzbl 2*%c[field](%[table" #L "],%[index]), %k[number]\n\t"                               \
  "add %[before" #L "], %[first]\n\t"                                                         \
  "js " #N "1b\n"                                                                             \
  #N "2:\n\t"                                                                                 \
  "test %[first], %[first]\n\t"                                                               \
  "jnz 3f\n\t"                                                                                \
  "movzbl 4*%c[field](%[table" #L "],%[index],4), %k[entry]\n\t"                              \
  "neg %[entry]\n\t"                                                                          \
  "and $63, %k[entry]\n\t"                                                                    \
  "movzbl %c[field](%[table" #L "],%[index]), %k[number]\n\t"                                 \
  "jmp " #N "1b\n\t"

#define UNSTARVE_ONE_LANE(LOAD_SECOND, STORE_SECOND)                                          \
  UNSTARVE_ONE_REFILL(index, entry)                                                           \
  "1:\n\t"                                                                                    \
  UNSTARVE_ONE_INDEX                                                                          \
  UNSTARVE_ONE_REFILL(value, number)                                                          \
  UNSTARVE_STEP(1, 0, UNSTARVE_ONE_, LOAD_SECOND, STORE_SECOND)                               \
  UNSTARVE_ONE_INDEX                                                                          \
  UNSTARVE_STEP(2, 0, UNSTARVE_ONE_, LOAD_SECOND, STORE_SECOND)                               \
  UNSTARVE_ONE_INDEX                                                                          \
  UNSTARVE_STEP(3, 0, UNSTARVE_ONE_, LOAD_SECOND, STORE_SECOND)                               \
  "cmp %c[end](%[blocks]), %[block0]\n\t"                                                     \
  "je 2f\n\t"                                                                                 \
  "cmp 8+%c[end](%[blocks]), %[next]\n\t"                                                     \
  "jbe 1b\n\t"                                                                                \
  "jmp 2f\n\t"                                                                                \
  UNSTARVE_RARE(1, 0, UNSTARVE_ONE_)                                                          \
  UNSTARVE_RARE(2, 0, UNSTARVE_ONE_)                                                          \
  UNSTARVE_RARE(3, 0, UNSTARVE_ONE_)                                                          \
  "3:\n"                                                                                      \
  "2:\n\t"                                                                                    \
      : [bits0] "+&r"(bits), [count] "+&r"(count), [next] "+&r"(next), [table0] "+&r"(table), \
        [before0] "+&r"(before), [block0] "+&r"(block), [index] "=&r"(index),                 \
        [entry] "=&r"(entry), [first] "=&r"(first), [value] "=&r"(value),                     \
        [number] "=&r"(number)                                                                \
      : [blocks] "r"(&blocks), [lane] "r"(&blocks.lanes[lane]),                               \
        [shift] "r"(std::uint64_t{64 - HuffmanTable::kBits}),                                 \
        [ac] "i"(offsetof(EntropyBlocks, ac)), [ends] "i"(offsetof(EntropyBlocks::Lane, ends)), \
        [end] "i"(offsetof(EntropyBlocks, end)), [field] "i"(HuffmanEntries::kCount)          \
      : "cc", "memory"

// Decodes one lane from `from` to its end; idle blocks must follow the last block. False like decode_blocks().
HWY_NOINLINE bool run(EntropyState& state, EntropyBlocks& blocks, std::size_t lane, Reached from) {
  blocks.limit = state.limit;
  std::uint64_t bits = state.bits, count = state.count;
  const std::uint8_t* next = state.next;
  std::size_t block = from.block;
  std::int64_t before = from.before;
  const HuffmanEntries* table = before == blocks.before_dc ? blocks.dc[block] : blocks.ac[block];
  std::uint64_t index, entry, first, value, number;
  if (blocks.skipped) {
    asm volatile(UNSTARVE_ONE_LANE(UNSTARVE_NO_SECOND, ));
  } else {
    asm volatile(UNSTARVE_ONE_LANE(UNSTARVE_LOAD_SECOND, UNSTARVE_STORE_SECOND));
  }
  if (block != blocks.end) return false;
  state = {bits, count, next, state.limit};
  return true;
}

// Decodes both lanes until one is at its end or past its limit; blocks.at are their stream positions. False for invalid
// data, which the loop signals by a null `entry` (otherwise the address of a block's values).
HWY_NOINLINE bool run_two(EntropyBlocks& blocks, Reached& lane0, Reached& lane1) {
  std::uint64_t bits0, bits1;
  const HuffmanEntries* table0 = blocks.dc[lane0.block];
  const HuffmanEntries* table1 = blocks.dc[lane1.block];
  std::uint64_t index, entry, first, value, number;
  asm volatile(
      "1:\n\t"
      UNSTARVE_TWO_REFILL(0)
      UNSTARVE_TWO_REFILL(1)
      UNSTARVE_TWO_STEP(1, 0)
      UNSTARVE_TWO_STEP(2, 1)
      UNSTARVE_TWO_STEP(3, 0)
      UNSTARVE_TWO_STEP(4, 1)
      UNSTARVE_TWO_STEP(5, 0)
      UNSTARVE_TWO_STEP(6, 1)
      "cmp %c[end](%[blocks]), %[block0]\n\t"
      "je 2f\n\t"
      "cmp %c[end](%[blocks]), %[block1]\n\t"
      "je 2f\n\t"
      "mov 24+%c[end](%[blocks]), %[index]\n\t"
      "cmp 40+%c[end](%[blocks]), %[index]\n\t"
      "ja 2f\n\t"
      "mov 32+%c[end](%[blocks]), %[index]\n\t"
      "cmp 48+%c[end](%[blocks]), %[index]\n\t"
      "jbe 1b\n\t"
      "jmp 2f\n\t"
      UNSTARVE_RARE(1, 0, UNSTARVE_TWO_)
      UNSTARVE_RARE(2, 1, UNSTARVE_TWO_)
      UNSTARVE_RARE(3, 0, UNSTARVE_TWO_)
      UNSTARVE_RARE(4, 1, UNSTARVE_TWO_)
      UNSTARVE_RARE(5, 0, UNSTARVE_TWO_)
      UNSTARVE_RARE(6, 1, UNSTARVE_TWO_)
      "3:\n\t"
      "xor %k[entry], %k[entry]\n"
      "2:\n\t"
      : [bits0] "=&r"(bits0), [table0] "+&r"(table0), [before0] "+&r"(lane0.before), [block0] "+&r"(lane0.block),
        [bits1] "=&r"(bits1), [table1] "+&r"(table1), [before1] "+&r"(lane1.before), [block1] "+&r"(lane1.block),
        [index] "=&r"(index), [entry] "=&r"(entry), [first] "=&r"(first), [value] "=&r"(value), [number] "=&r"(number)
      : [blocks] "r"(&blocks), [ac] "i"(offsetof(EntropyBlocks, ac)), [lane0] "i"(offsetof(EntropyBlocks, lanes[0])),
        [lane1] "i"(offsetof(EntropyBlocks, lanes[1])), [ends] "i"(offsetof(EntropyBlocks::Lane, ends)),
        [end] "i"(offsetof(EntropyBlocks, end)), [field] "i"(HuffmanEntries::kCount)
      : "cc", "memory");
  return entry != 0;
}
// clang-format on

std::uint64_t first_bit(const std::uint8_t* byte) { return reinterpret_cast<std::uint64_t>(byte) * 8; }

// Sets the state to that after a refill at `bit`.
void go_to(EntropyState& state, std::uint64_t bit) {
  const auto* const byte = reinterpret_cast<const std::uint8_t*>(bit / 8);
  std::uint64_t word;
  std::memcpy(&word, byte, sizeof(word));
  state.bits = __builtin_bswap64(word) << bit % 8;
  state.count = 56 - bit % 8;
  state.next = byte + 7;
}

// Like decode_blocks_of_two(); idle blocks must follow the last block.
bool run_both(EntropyState& lane0, EntropyState& lane1, EntropyBlocks& blocks, std::size_t first) {
  const std::array<EntropyState*, EntropyBlocks::kLanes> states{&lane0, &lane1};
  std::array<Reached, EntropyBlocks::kLanes> reached;
  for (std::size_t lane = 0; lane < states.size(); ++lane) {
    blocks.at[lane] = first_bit(states[lane]->next) - (states[lane]->count & 63);
    blocks.last[lane] = first_bit(states[lane]->limit);
    reached[lane] = {first, blocks.before_dc};
  }
  if (!run_two(blocks, reached[0], reached[1])) return false;
  for (std::size_t lane = 0; lane < states.size(); ++lane) {
    go_to(*states[lane], blocks.at[lane]);
    if (reached[lane].block == blocks.end) continue;
    if (blocks.at[lane] > blocks.last[lane]) return false;
    if (!run(*states[lane], blocks, lane, reached[lane])) return false;
  }
  return true;
}

#undef UNSTARVE_ONE_REFILL
#undef UNSTARVE_ONE_INDEX
#undef UNSTARVE_ONE_CONSUME
#undef UNSTARVE_ONE_REFILL_BEHIND_10
#undef UNSTARVE_ONE_VALUES
#undef UNSTARVE_ONE_ENDS
#undef UNSTARVE_ONE_LANE
#undef UNSTARVE_TWO_REFILL
#undef UNSTARVE_TWO_INDEX
#undef UNSTARVE_TWO_CONSUME
#undef UNSTARVE_TWO_REFILL_BEHIND_10
#undef UNSTARVE_TWO_VALUES
#undef UNSTARVE_TWO_ENDS
#undef UNSTARVE_TWO_STEP
#undef UNSTARVE_LOAD_SECOND
#undef UNSTARVE_STORE_SECOND
#undef UNSTARVE_NO_SECOND
#undef UNSTARVE_STEP
#undef UNSTARVE_RARE

#else

// The state in registers.
struct Bits {
  std::uint64_t bits;
  std::uint64_t count;
  const std::uint8_t* next;

  // Refills to at least 56 bits. After F. Giesen, "Reading bits in far too many ways (part 2)", variant 4: bits beyond
  // `count` are correct too, so that loading them again changes nothing.
  HWY_INLINE void refill() {
    std::uint64_t word;
    std::memcpy(&word, next, sizeof(word));
    word = __builtin_bswap64(word);
    bits |= word >> (count & 63);
    next += (~count & 63) >> 3;
    count |= 56;
  }
  HWY_INLINE void consume(std::uint64_t used) {
    bits <<= used;
    count -= used;
  }
};

HWY_INLINE std::int16_t value_of(std::uint64_t bits, const HuffmanEntry& entry) {
  const std::uint64_t mask = (std::uint64_t{1} << entry.value_bits) - 1;
  return static_cast<std::int16_t>(static_cast<int>(bits >> entry.value_from & mask) + entry.value_base);
}

// Replaces a rare entry by its meaning, see UNSTARVE_RARE above. False if the block is invalid.
HWY_NOINLINE bool replace_rare(Bits& in, const HuffmanEntries& table, std::int64_t before, HuffmanEntry& entry) {
  if (entry.first == HuffmanEntry::kSecond) {
    in.consume(HuffmanTable::kBits);
    in.refill();
    entry = table.at(static_cast<std::size_t>(entry.value_base) + (in.bits >> entry.value_from));
  }
  const std::int64_t first = before + entry.first;
  if (first == 0) {
    entry.bits = static_cast<std::uint8_t>(64 - entry.value_from);
    entry.both = entry.first;
    entry.second = 0;
  }
  return first <= 0;
}

// Decodes one lane from `from` to its end; idle blocks must follow the last block. False like decode_blocks().
HWY_NOINLINE bool run(EntropyState& state, EntropyBlocks& blocks, std::size_t lane, Reached from) {
  Bits in{state.bits, state.count, state.next};
  std::size_t block = from.block;
  std::int64_t before = from.before;
  const HuffmanEntries* table = before == blocks.before_dc ? blocks.dc[block] : blocks.ac[block];
  bool right = true;
  const auto step = [&]() HWY_ATTR {
    HuffmanEntry entry = table->at(in.bits >> (64 - HuffmanTable::kBits));
    if (HWY_UNLIKELY(before + entry.first >= 0)) right = right && replace_rare(in, *table, before, entry);
    if (!right) return;
    const std::int64_t first = before + entry.first;
    const std::int64_t number = before + entry.both;
    std::int16_t* const values = blocks.lanes[lane].values[block];
    // Without a second symbol both have the same slot, and the first value overwrites the second.
    if (!blocks.skipped) values[number & 63] = entry.second;
    values[first & 63] = value_of(in.bits, entry);
    blocks.lanes[lane].ends[block] = static_cast<std::uint8_t>(number & 255);
    in.consume(entry.bits);
    const bool ended = number >= 0;
    table = ended ? blocks.dc[block + 1] : blocks.ac[block];
    before = ended ? blocks.before_dc : number;
    block += ended ? 1 : 0;
  };
  do {
    in.refill();
    step();
    step();
    step();
  } while (right && block != blocks.end && in.next <= state.limit);
  state = {in.bits, in.count, in.next, state.limit};
  return right && block == blocks.end;
}

// Like decode_blocks_of_two(), one lane after the other; idle blocks must follow the last block.
bool run_both(EntropyState& lane0, EntropyState& lane1, EntropyBlocks& blocks, std::size_t first) {
  const Reached begin{first, blocks.before_dc};
  return run(lane0, blocks, 0, begin) && run(lane1, blocks, 1, begin);
}

#endif

}  // namespace

bool decode_blocks_on_target(EntropyState& state, EntropyBlocks& blocks, std::size_t first) {
  return run(state, blocks, 0, {first, blocks.before_dc});
}

bool decode_blocks_of_two_on_target(EntropyState& lane0, EntropyState& lane1, EntropyBlocks& blocks,
                                    std::size_t first) {
  return run_both(lane0, lane1, blocks, first);
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {
namespace {

HWY_EXPORT(decode_blocks_on_target);
HWY_EXPORT(decode_blocks_of_two_on_target);

// A table for the steps after the last block, which do nothing.
constexpr HuffmanEntries kIdle;

// Appends an idle block after the last one, and restores the previous one when destroyed.
class IdleEnd {
 public:
  IdleEnd(EntropyBlocks& blocks, std::size_t end)
      : blocks_(blocks),
        dc_(blocks.dc[end]),
        ac_(blocks.ac[end]),
        values_{blocks.lanes[0].values[end], blocks.lanes[1].values[end]} {
    blocks.dc[end] = blocks.ac[end] = &kIdle;
    blocks.lanes[0].values[end] = blocks.lanes[1].values[end] = idle_;
    blocks.end = end;
  }
  ~IdleEnd() {
    const std::size_t end = blocks_.end;
    blocks_.dc[end] = dc_;
    blocks_.ac[end] = ac_;
    blocks_.lanes[0].values[end] = values_[0];
    blocks_.lanes[1].values[end] = values_[1];
  }
  IdleEnd(const IdleEnd&) = delete;
  IdleEnd& operator=(const IdleEnd&) = delete;

 private:
  EntropyBlocks& blocks_;
  const HuffmanEntries* dc_;
  const HuffmanEntries* ac_;
  std::int16_t* values_[EntropyBlocks::kLanes];
  std::int16_t idle_[CoefficientRow::kBlockValues];
};

}  // namespace

bool decode_blocks(EntropyState& state, EntropyBlocks& blocks, std::size_t first, std::size_t end) {
  if (first == end) return true;
  if (state.next > state.limit) return false;
  const IdleEnd idle(blocks, end);
  const bool right = HWY_DYNAMIC_DISPATCH(decode_blocks_on_target)(state, blocks, first);
  state.count &= 63;
  return right;
}

bool decode_blocks_of_two(EntropyState& lane0, EntropyState& lane1, EntropyBlocks& blocks, std::size_t first,
                          std::size_t end) {
  if (first == end) return true;
  if (lane0.next > lane0.limit || lane1.next > lane1.limit) return false;
  const IdleEnd idle(blocks, end);
  const bool right = HWY_DYNAMIC_DISPATCH(decode_blocks_of_two_on_target)(lane0, lane1, blocks, first);
  lane0.count &= 63;
  lane1.count &= 63;
  return right;
}

}  // namespace unstarve
#endif
