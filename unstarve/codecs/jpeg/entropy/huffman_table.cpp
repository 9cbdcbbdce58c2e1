#include "unstarve/codecs/jpeg/entropy/huffman_table.h"

#include <algorithm>

namespace unstarve {
namespace {

constexpr int kCodeBits = 16;  // of the longest code
constexpr int kBits = HuffmanTable::kBits;
constexpr int kRemaining = kCodeBits - kBits;  // bits of the longest code that are not in the first table's index

constexpr int value_bits_of(std::uint8_t symbol, bool ac) { return ac ? symbol & 15 : symbol; }

constexpr HuffmanEntry no_code() {
  HuffmanEntry entry;
  entry.first = HuffmanEntry::kNoCode;
  return entry;
}

// A symbol with a code of `bits` bits. `used`: the bits of its code and value that the first table consumed.
struct CodedSymbol {
  std::uint8_t symbol;
  bool ac;
  int bits;
  int used;
};

// `value_start`: the first `known` bits of the value, including the sign and all consumed bits.
HuffmanEntry entry_of(const CodedSymbol& code, int value_start, int known) {
  const int run = code.ac ? code.symbol >> 4 : 0;
  const int value_bits = value_bits_of(code.symbol, code.ac);
  // Without value bits, a run of 15 means 16 zeros; any other run means the end of the block, as in libjpeg.
  const bool ends = code.ac && value_bits == 0 && run != 15;
  const int consumed = std::max(code.used - code.bits, 0);  // of the value
  const int left = value_bits - consumed;
  const bool negative = value_bits > 0 && value_start >> (known - 1) == 0;
  HuffmanEntry entry;
  entry.bits = static_cast<std::uint8_t>(code.bits + value_bits - code.used);
  entry.first = static_cast<std::uint8_t>(ends ? 1 : run + 1);
  entry.both = ends ? HuffmanEntry::kEndOfBlock : entry.first;
  entry.value_from = static_cast<std::uint8_t>(64 - entry.bits);
  entry.value_bits = static_cast<std::uint8_t>(left);
  const int base = negative ? 1 - (1 << value_bits) : 0;
  entry.value_base = static_cast<std::int16_t>(base + (value_start >> (known - consumed) << left));
  return entry;
}

// Fills the `count` entries that begin with a symbol's code; of values with a sign, the first half is negative.
void fill_symbol(HuffmanEntries& entries, std::size_t from, std::size_t count, const CodedSymbol& code) {
  if (value_bits_of(code.symbol, code.ac) == 0) {
    entries.fill(from, count, entry_of(code, 0, 0));
    return;
  }
  entries.fill(from, count / 2, entry_of(code, 0, 1));
  entries.fill(from + count / 2, count / 2, entry_of(code, 1, 1));
}

}  // namespace

void HuffmanEntries::fill(std::size_t from, std::size_t count, const HuffmanEntry& entry) {
  std::fill_n(bits.data() + from, count, entry.bits);
  std::fill_n(first.data() + from, count, entry.first);
  std::fill_n(both.data() + from, count, entry.both);
  std::fill_n(second.data() + from, count, entry.second);
  std::fill_n(value.data() + from, count, Value{entry.value_from, entry.value_bits, entry.value_base});
}

bool HuffmanTable::build(const HuffmanCodes& codes, bool ac, bool pairs) {
  if (!built_ || ac != ac_ || codes != codes_) {
    codes_ = codes;
    ac_ = ac;
    paired_ = false;
    built_ = build_singles();
  }
  if (built_ && pairs && !paired_) build_pairs();
  return built_;
}

bool HuffmanTable::build_singles() {
  std::array<LongCode, kFirst + 256> longer;
  std::size_t longers = 0;
  std::size_t symbol = 0;
  std::uint32_t at = 0;  // the smallest 16-bit stream that begins with the next code
  for (int bits = 1; bits <= kCodeBits; ++bits) {
    const std::size_t count = codes_.counts[static_cast<std::size_t>(bits)];
    const std::uint32_t step = 1u << (kCodeBits - bits);
    // No code may be all ones (T.81, annex C); libjpeg rejects such tables too.
    if (at + count * step >= 1u << kCodeBits || symbol + count > codes_.symbols.size()) return false;
    for (std::size_t i = 0; i < count; ++i, at += step) {
      const std::uint8_t value = codes_.symbols[symbol++];
      const int value_bits = value_bits_of(value, ac_);
      if (value_bits > (ac_ ? 10 : 11)) return false;
      const bool resolved = bits + (value_bits > 0 ? 1 : 0) <= kBits;
      if (resolved && bits + value_bits <= kMostBits) {
        fill_symbol(entries_, at >> kRemaining, step >> kRemaining, {value, ac_, bits, 0});
        continue;
      }
      for (std::uint32_t prefix = at; prefix < at + step; prefix += 1u << kRemaining) {
        longer[longers++] = {static_cast<std::uint16_t>(prefix), static_cast<std::uint8_t>(bits), value};
      }
    }
  }
  const std::size_t first_without = (at + (1u << kRemaining) - 1) >> kRemaining;
  entries_.fill(first_without, kFirst - first_without, no_code());
  std::size_t end = kFirst;
  const std::span<const LongCode> all(longer.data(), longers);
  for (std::size_t i = 0, next = 0; i < longers; i = next) {
    while (next < longers && all[next].at >> kRemaining == all[i].at >> kRemaining) ++next;
    if (!build_second(all.subspan(i, next - i), end)) return false;
  }
  return true;
}

// The second table of codes that begin with the same kBits bits, from entry `end` on.
bool HuffmanTable::build_second(std::span<const LongCode> codes, std::size_t& end) {
  int width = 1;
  for (const LongCode& code : codes) {
    const int sign = value_bits_of(code.symbol, ac_) > 0 && code.bits >= kBits ? 1 : 0;
    width = std::max(width, code.bits + sign - kBits);
  }
  const std::size_t size = std::size_t{1} << width;
  if (end + size > HuffmanEntries::kCount) return false;
  entries_.fill(end, size, no_code());
  for (const LongCode& code : codes) {
    if (code.bits < kBits) {
      const int known = kBits - code.bits;
      const int value_start = code.at >> kRemaining & ((1 << known) - 1);
      entries_.fill(end, size, entry_of({code.symbol, ac_, code.bits, kBits}, value_start, known));
      continue;
    }
    const std::size_t remaining = code.at & ((1u << kRemaining) - 1);
    fill_symbol(entries_, end + (remaining << width >> kRemaining), size >> (code.bits - kBits),
                {code.symbol, ac_, code.bits, kBits});
  }
  HuffmanEntry prefix;
  prefix.bits = kBits;
  prefix.first = HuffmanEntry::kSecond;
  prefix.value_from = static_cast<std::uint8_t>(64 - width);
  prefix.value_base = static_cast<std::int16_t>(end);
  entries_.fill(codes[0].at >> kRemaining, 1, prefix);
  end += size;
  return true;
}

void HuffmanTable::build_pairs() {
  // Each entry of the first table as a second symbol: its bits (kNone if it cannot be one), advance and value.
  constexpr std::uint8_t kNone = 64;
  std::array<std::uint8_t, kFirst> bits_of;
  std::array<std::uint8_t, kFirst> onward_of;
  std::array<std::int8_t, kFirst> value_of;
  for (std::size_t i = 0; i < kFirst; ++i) {
    const HuffmanEntries::Value value = entries_.value[i];
    const int bits = entries_.bits[i];
    const bool whole = entries_.first[i] < HuffmanEntry::kSecond && bits <= kBits && value.bits <= 7;
    bits_of[i] = whole ? static_cast<std::uint8_t>(bits) : kNone;
    onward_of[i] = entries_.both[i];
    const int raw = static_cast<int>(i >> (whole ? kBits - bits : 0)) & ((1 << value.bits) - 1);
    value_of[i] = static_cast<std::int8_t>(raw + value.base);
  }
  for (std::size_t i = 0; i < kFirst; ++i) {
    const std::uint8_t bits = bits_of[i];
    if (bits >= kBits || onward_of[i] == HuffmanEntry::kEndOfBlock) continue;
    const std::size_t second = (i << bits) & (kFirst - 1);
    if (bits_of[second] > kBits - bits) continue;
    entries_.second[i] = value_of[second];
    entries_.both[i] = static_cast<std::uint8_t>(onward_of[i] + onward_of[second]);
    entries_.bits[i] = static_cast<std::uint8_t>(bits + bits_of[second]);
  }
  paired_ = true;
}

}  // namespace unstarve
