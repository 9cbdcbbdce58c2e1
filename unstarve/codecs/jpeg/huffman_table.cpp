#include "unstarve/codecs/jpeg/huffman_table.h"

#include <algorithm>

namespace unstarve {
namespace {

constexpr int first_bits(std::uint64_t entry) { return static_cast<int>(entry >> 40 & 63); }
constexpr std::uint64_t first_onward(std::uint64_t entry) { return entry >> 24 & 255; }

}  // namespace

template <int kLookUpBits>
std::uint64_t HuffmanTable<kLookUpBits>::entry_of(std::uint8_t symbol, int bits, bool ac) noexcept {
  const std::uint64_t run = ac ? symbol >> 4 : 0;
  const std::uint64_t value_bits = ac ? symbol & 15u : symbol;
  const auto code_bits = static_cast<std::uint64_t>(bits);
  // Without value bits, a run of 15 means 16 zeros; any other means the end of the block, as libjpeg reads it.
  const bool ends = ac && value_bits == 0 && run != 15;
  const std::uint64_t onward = ends ? kEndOfBlock : run + 1;
  const std::uint64_t all_bits = code_bits + value_bits;
  return all_bits | code_bits << 8 | (63 - value_bits) << 16 | onward << 24 | all_bits << 40 | onward << 48;
}

template <int kLookUpBits>
bool HuffmanTable<kLookUpBits>::build(const HuffmanCodes& codes, bool ac, bool pairs) {
  if (!built_ || ac != ac_ || codes != codes_) {
    codes_ = codes;
    ac_ = ac;
    paired_ = false;
    built_ = build_singles();
  }
  if (built_ && pairs && !paired_) build_pairs();
  return built_;
}

template <int kLookUpBits>
bool HuffmanTable<kLookUpBits>::build_singles() {
  std::int32_t code = 0;
  std::int32_t symbol = 0;
  std::size_t filled = 0;
  for (int bits = 1; bits <= 16; ++bits) {
    const auto length = static_cast<std::size_t>(bits);
    const std::int32_t count = codes_.counts[length];
    // Codes of all ones are reserved, but libjpeg takes them, and so do we.
    if (code + count > (1 << bits) || symbol + count > 256) return false;
    first_[length] = code;
    symbol_[length] = symbol;
    for (std::int32_t i = 0; i < count; ++i, ++symbol) {
      const std::uint8_t value = codes_.symbols[static_cast<std::size_t>(symbol)];
      if ((ac_ ? value & 15 : value) > (ac_ ? 10 : 11)) return false;
      if (bits > kBits) continue;
      const std::size_t entries = std::size_t{1} << (kBits - bits);
      std::fill_n(entries_.data() + filled, entries, entry_of(value, bits, ac_));
      filled += entries;
    }
    code += count;
    end_[length] = code;
    code <<= 1;
  }
  std::fill(entries_.begin() + static_cast<std::ptrdiff_t>(filled), entries_.end(), kLong);
  return true;
}

template <int kLookUpBits>
void HuffmanTable<kLookUpBits>::build_pairs() {
  // What an entry's first symbol adds to the entry before it when it becomes its second: value, onward and bits. Its
  // bits alone, too many for any pair when it cannot be one.
  constexpr std::uint8_t kNone = 64;
  constexpr std::size_t kEntries = std::size_t{1} << kBits;
  std::array<std::uint64_t, kEntries> as_second;
  std::array<std::uint8_t, kEntries> bits_of;
  for (std::size_t i = 0; i < kEntries; ++i) {
    const std::uint64_t entry = entries_[i];
    const int bits = first_bits(entry);
    const int value_bits = 63 - static_cast<int>(entry >> 16 & 63);
    bits_of[i] = kNone;
    if ((entry & kLong) != 0 || bits > kBits || value_bits > 7) continue;
    const int raw = static_cast<int>(i >> (kBits - bits)) & ((1 << value_bits) - 1);
    const bool negative = value_bits > 0 && raw >> (value_bits - 1) == 0;
    const int value = negative ? raw - (1 << value_bits) + 1 : raw;
    as_second[i] = static_cast<std::uint64_t>(static_cast<std::uint8_t>(value)) << 56 | first_onward(entry) << 48 |
                   static_cast<std::uint64_t>(bits);
    bits_of[i] = static_cast<std::uint8_t>(bits);
  }
  for (std::size_t i = 0; i < kEntries; ++i) {
    const std::uint64_t entry = entries_[i];
    const int bits = first_bits(entry);
    if ((entry & kLong) != 0 || bits >= kBits || first_onward(entry) == kEndOfBlock) continue;
    const std::size_t second = (i << bits) & (kEntries - 1);
    if (bits_of[second] <= kBits - bits) entries_[i] += as_second[second];
  }
  paired_ = true;
}

template <int kLookUpBits>
std::uint64_t HuffmanTable<kLookUpBits>::decode_long(std::uint64_t stream) const noexcept {
  for (int bits = kBits + 1; bits <= 16; ++bits) {
    const auto length = static_cast<std::size_t>(bits);
    const auto code = static_cast<std::int32_t>(stream >> (64 - bits));
    if (code < end_[length]) {
      const std::int32_t number = symbol_[length] + code - first_[length];
      return entry_of(codes_.symbols[static_cast<std::size_t>(number)], bits, ac_);
    }
  }
  return 0;
}

template class HuffmanTable<DcTable::kBits>;
template class HuffmanTable<AcTable::kBits>;

}  // namespace unstarve
