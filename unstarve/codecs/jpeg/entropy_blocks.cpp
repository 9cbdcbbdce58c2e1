#include "unstarve/codecs/jpeg/entropy_blocks.h"

#include <bit>
#include <cstring>
#include <tuple>

#include "unstarve/core/sanitizers.h"
#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/codecs/jpeg/entropy_blocks.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set: BMI2's shifts matter here
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

static_assert(std::endian::native == std::endian::little);

// Not under sanitizers, which do not see what instructions written by hand access.
#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX2 && !UNSTARVE_ASAN && !UNSTARVE_MSAN

// The loop below in 24 instructions a look-up. Compilers make branches of the selections, or spill half of the state.
//
//   place     the look-up's index        entry     all of the entry; then the place of a coefficient
//   first     number of the first symbol's coefficient      number    of the last one
//
// Numbers go from -64, before DC, to -1; the addition that carries has left the block.
// Local labels: 1 the loop, 2 its end, N0 and N1 of step N: a rare entry, and back.

// What the instructions have as numbers; an asm statement takes no more operands.
static_assert(offsetof(EntropyBlocks, dc) == 0 && offsetof(EntropyBlocks, values) == 2 * offsetof(EntropyBlocks, ac));
static_assert(offsetof(EntropyBlocks, limit) == offsetof(EntropyBlocks, end) + 8);
static_assert(offsetof(EntropyBlocks, before_dc) == offsetof(EntropyBlocks, end) + 16);
static_assert(offsetof(HuffmanEntries, bits) == 0 && offsetof(HuffmanEntries, first) == HuffmanEntries::kCount);
static_assert(offsetof(HuffmanEntries, both) == 2 * HuffmanEntries::kCount);
static_assert(offsetof(HuffmanEntries, second) == 3 * HuffmanEntries::kCount);
static_assert(offsetof(HuffmanEntries, value) == 4 * HuffmanEntries::kCount);
static_assert(offsetof(HuffmanEntries::Value, base) == 2);
static_assert(2 * CoefficientRow::kEnd == 514 && HuffmanTable::kBits == 10 && HuffmanEntry::kSecond == 64);

// clang-format off
// At least 56 bits. After F. Giesen, "Reading bits in far too many ways (part 2)", variant 4: bits beyond `count` are
// right too, so that loading them again changes nothing.
#define UNSTARVE_REFILL(WORD, BYTES)                                                          \
  "mov (%[next]), %[" #WORD "]\n\t"                                                           \
  "mov %[count], %[" #BYTES "]\n\t"                                                           \
  "bswap %[" #WORD "]\n\t"                                                                    \
  "shrx %[count], %[" #WORD "], %[" #WORD "]\n\t"                                             \
  "xor $63, %k[" #BYTES "]\n\t"                                                               \
  "or %[" #WORD "], %[bits]\n\t"                                                              \
  "shr $3, %[" #BYTES "]\n\t"                                                                 \
  "or $56, %[count]\n\t"                                                                      \
  "add %[" #BYTES "], %[next]\n\t"

#define UNSTARVE_PLACE "shrx %[shift], %[bits], %[place]\n\t"

// The second symbol's value, and where it goes. Of skipped blocks DC alone is looked at, which is never second.
#define UNSTARVE_LOAD_SECOND "movsbl 3*%c[field](%[table],%[place]), %k[place]\n\t"
#define UNSTARVE_STORE_SECOND                                                                 \
  "movzwl 128+%c[places](%[blocks],%[number],2), %k[entry]\n\t"                               \
  "movw %w[place], (%[values],%[entry],2)\n\t"

#define UNSTARVE_STEP(N, LOAD_SECOND, STORE_SECOND)                                           \
  "movzbl (%[table],%[place]), %k[entry]\n\t"                                                 \
  "movzbl %c[field](%[table],%[place]), %k[first]\n\t"                                        \
  "movzbl 2*%c[field](%[table],%[place]), %k[number]\n\t"                                     \
  "add %[before], %[first]\n\t"                                                               \
  "jns " #N "0f\n"                                                                            \
  #N "1:\n\t"                                                                                 \
  "movzwl 4*%c[field](%[table],%[place],4), %k[value]\n\t"                                    \
  "bextr %[value], %[bits], %[value]\n\t"                                                     \
  "addw 2+4*%c[field](%[table],%[place],4), %w[value]\n\t"                                    \
  LOAD_SECOND                                                                                 \
  "mov %c[ac](%[blocks],%[block],8), %[table]\n\t"                                            \
  "add %[before], %[number]\n\t"                                                              \
  "cmovc 8(%[blocks],%[block],8), %[table]\n\t"                                               \
  "mov %[number], %[before]\n\t"                                                              \
  "cmovc 16+%c[end](%[blocks]), %[before]\n\t"                                                \
  "adc $0, %[block]\n\t"                                                                      \
  "shlx %[entry], %[bits], %[bits]\n\t"                                                       \
  "sub %[entry], %[count]\n\t"                                                                \
  STORE_SECOND                                                                                \
  "movzwl 128+%c[places](%[blocks],%[first],2), %k[entry]\n\t"                                \
  "movw %w[value], (%[values],%[entry],2)\n\t"                                                \
  "movb %b[number], 514(%[values])\n\t"                                                       \
  "mov 2*%c[ac](%[blocks],%[block],8), %[values]\n\t"

// Where the first symbol leaves the block or is at its last coefficient. A second table: consumes the first one's bits
// and looks up there. A last coefficient: takes the first symbol alone. Else out of the loop, `first` not negative.
#define UNSTARVE_RARE(N)                                                                      \
  #N "0:\n\t"                                                                                 \
  "cmpb $64, %c[field](%[table],%[place])\n\t"                                                \
  "jne " #N "2f\n\t"                                                                          \
  "movzwl 2+4*%c[field](%[table],%[place],4), %k[first]\n\t"                                  \
  "movzbl 4*%c[field](%[table],%[place],4), %k[number]\n\t"                                   \
  "shl $10, %[bits]\n\t"                                                                      \
  "sub $10, %[count]\n\t"                                                                     \
  UNSTARVE_REFILL(place, entry)                                                               \
  "shrx %[number], %[bits], %[place]\n\t"                                                     \
  "add %[first], %[place]\n\t"                                                                \
  "movzbl (%[table],%[place]), %k[entry]\n\t"                                                 \
  "movzbl %c[field](%[table],%[place]), %k[first]\n\t"                                        \
  "movzbl 2*%c[field](%[table],%[place]), %k[number]\n\t"                                     \
  "add %[before], %[first]\n\t"                                                               \
  "js " #N "1b\n"                                                                             \
  #N "2:\n\t"                                                                                 \
  "test %[first], %[first]\n\t"                                                               \
  "jnz 2f\n\t"                                                                                \
  "movzbl 4*%c[field](%[table],%[place],4), %k[entry]\n\t"                                    \
  "neg %[entry]\n\t"                                                                          \
  "and $63, %k[entry]\n\t"                                                                    \
  "movzbl %c[field](%[table],%[place]), %k[number]\n\t"                                       \
  "jmp " #N "1b\n\t"

#define UNSTARVE_LOOP(LOAD_SECOND, STORE_SECOND)                                              \
  UNSTARVE_REFILL(place, entry)                                                               \
  "1:\n\t"                                                                                    \
  UNSTARVE_PLACE                                                                              \
  UNSTARVE_REFILL(value, number)                                                              \
  UNSTARVE_STEP(1, LOAD_SECOND, STORE_SECOND)                                                 \
  UNSTARVE_PLACE                                                                              \
  UNSTARVE_STEP(2, LOAD_SECOND, STORE_SECOND)                                                 \
  UNSTARVE_PLACE                                                                              \
  UNSTARVE_STEP(3, LOAD_SECOND, STORE_SECOND)                                                 \
  "cmp %c[end](%[blocks]), %[block]\n\t"                                                      \
  "je 2f\n\t"                                                                                 \
  "cmp 8+%c[end](%[blocks]), %[next]\n\t"                                                     \
  "jbe 1b\n\t"                                                                                \
  "jmp 2f\n\t"                                                                                \
  UNSTARVE_RARE(1)                                                                            \
  UNSTARVE_RARE(2)                                                                            \
  UNSTARVE_RARE(3)                                                                            \
  "2:\n\t"                                                                                    \
      : [bits] "+&r"(bits), [count] "+&r"(count), [next] "+&r"(next), [table] "+&r"(table),   \
        [before] "+&r"(before), [block] "+&r"(block), [values] "+&r"(values),                 \
        [place] "=&r"(place), [entry] "=&r"(entry), [first] "=&r"(first),                     \
        [value] "=&r"(value), [number] "=&r"(number)                                          \
      : [blocks] "r"(&blocks), [shift] "r"(std::uint64_t{64 - HuffmanTable::kBits}),          \
        [ac] "i"(offsetof(EntropyBlocks, ac)), [places] "i"(offsetof(EntropyBlocks, places)), \
        [end] "i"(offsetof(EntropyBlocks, end)), [field] "i"(HuffmanEntries::kCount)          \
      : "cc", "memory"

// As decode_blocks(), with idle blocks behind the last one.
HWY_NOINLINE bool run(EntropyState& state, const EntropyBlocks& blocks, std::size_t block) {
  std::uint64_t bits = state.bits, count = state.count;
  const std::uint8_t* next = state.next;
  const HuffmanEntries* table = blocks.dc[block];
  std::int16_t* values = blocks.values[block];
  std::int64_t before = blocks.before_dc;
  std::uint64_t place, entry, first, value, number;
  if (blocks.skipped) {
    asm volatile(UNSTARVE_LOOP(, ));
  } else {
    asm volatile(UNSTARVE_LOOP(UNSTARVE_LOAD_SECOND, UNSTARVE_STORE_SECOND));
  }
  if (block != blocks.end) return false;
  state = {bits, count, next};
  return true;
}
// clang-format on

#undef UNSTARVE_REFILL
#undef UNSTARVE_PLACE
#undef UNSTARVE_LOAD_SECOND
#undef UNSTARVE_STORE_SECOND
#undef UNSTARVE_LOOP
#undef UNSTARVE_STEP
#undef UNSTARVE_RARE

#else

// The state in registers.
struct Bits {
  std::uint64_t bits;
  std::uint64_t count;
  const std::uint8_t* next;

  // At least 56 bits afterwards. After F. Giesen, "Reading bits in far too many ways (part 2)", variant 4: bits beyond
  // `count` are right too, so that loading them again changes nothing.
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

// What a rare entry means in place of it: see UNSTARVE_RARE above. False when the block cannot be right.
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

// As decode_blocks(), with idle blocks behind the last one.
HWY_NOINLINE bool run(EntropyState& state, const EntropyBlocks& blocks, std::size_t block) {
  Bits in{state.bits, state.count, state.next};
  const HuffmanEntries* table = blocks.dc[block];
  std::int64_t before = blocks.before_dc;
  bool right = true;
  const auto step = [&]() HWY_ATTR {
    HuffmanEntry entry = table->at(in.bits >> (64 - HuffmanTable::kBits));
    if (HWY_UNLIKELY(before + entry.first >= 0)) right = right && replace_rare(in, *table, before, entry);
    if (!right) return;
    const std::int64_t first = before + entry.first;
    const std::int64_t number = before + entry.both;
    std::int16_t* const values = blocks.values[block];
    // Without a second symbol both have the same place, or its 0 goes where nothing is; and the first is right.
    if (!blocks.skipped) values[blocks.places[number + 64]] = entry.second;
    values[blocks.places[first + 64]] = value_of(in.bits, entry);
    values[CoefficientRow::kEnd] = static_cast<std::int16_t>(number & 255);
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
  } while (right && block != blocks.end && in.next <= blocks.limit);
  state = {in.bits, in.count, in.next};
  return right && block == blocks.end;
}

#endif

}  // namespace

bool decode_blocks_on_target(EntropyState& state, const EntropyBlocks& blocks, std::size_t first) {
  return run(state, blocks, first);
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {
namespace {

HWY_EXPORT(decode_blocks_on_target);

// What the steps behind the last block do: nothing, again and again.
constexpr HuffmanEntries kIdle;

}  // namespace

bool decode_blocks(EntropyState& state, EntropyBlocks& blocks, std::size_t first, std::size_t end,
                   const std::uint8_t* limit) {
  if (first == end) return true;
  if (state.next > limit) return false;
  std::int16_t idle_values[CoefficientRow::kEnd + 1];
  const auto behind = std::tuple(blocks.dc[end], blocks.ac[end], blocks.values[end]);
  blocks.dc[end] = blocks.ac[end] = &kIdle;
  blocks.values[end] = idle_values;
  blocks.end = end;
  blocks.limit = limit;
  const bool right = HWY_DYNAMIC_DISPATCH(decode_blocks_on_target)(state, blocks, first);
  state.count &= 63;
  std::tie(blocks.dc[end], blocks.ac[end], blocks.values[end]) = behind;
  return right;
}

}  // namespace unstarve
#endif
