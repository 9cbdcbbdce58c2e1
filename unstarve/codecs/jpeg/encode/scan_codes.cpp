#include "unstarve/codecs/jpeg/encode/scan_codes.h"

#include "unstarve/codecs/jpeg/encode/standard_tables.h"

namespace unstarve {
namespace {

// `entries` is indexed by symbol; a symbol's low four bits are the number of value bits.
template <std::size_t kSymbols>
void fill(const HuffmanCodes& codes, std::array<std::uint32_t, kSymbols>& entries) {
  std::uint32_t code = 0;
  std::size_t number = 0;
  for (std::uint32_t bits = 1; bits <= 16; ++bits, code <<= 1) {
    for (int i = 0; i < codes.counts[bits]; ++i, ++code, ++number) {
      const std::uint8_t symbol = codes.symbols[number];
      const std::uint32_t value_bits = symbol & 15u;
      entries.at(symbol) = code << (value_bits + ScanCodes::kLengthBits) | (bits + value_bits);
    }
  }
}

ScanCodes make_standard_codes() {
  ScanCodes codes;
  fill(kDcLuminanceCodes, codes.dc[0]);
  fill(kDcChrominanceCodes, codes.dc[1]);
  fill(kAcLuminanceCodes, codes.ac[0]);
  fill(kAcChrominanceCodes, codes.ac[1]);
  std::size_t index = 0;
  for (int run = 0; run < 16; ++run) {
    for (const bool chroma : {false, true}) {
      for (int value = -ScanCodes::kSmall; value < ScanCodes::kSmall; ++value) {
        codes.small[index++] = codes.ac_entry(chroma, run, value);
      }
    }
  }
  return codes;
}

}  // namespace

const ScanCodes& standard_codes() {
  static const ScanCodes codes = make_standard_codes();
  return codes;
}

}  // namespace unstarve
