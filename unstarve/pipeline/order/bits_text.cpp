#include "unstarve/pipeline/order/bits_text.h"

#include <cstddef>
#include <cstdint>

namespace unstarve {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string bits_to_text(const std::vector<bool>& bits) {
  const std::size_t bytes = (bits.size() + 7) / 8;
  std::string text;
  for (std::size_t begin = 0; begin < bytes; begin += 3) {
    std::uint32_t group = 0;
    for (std::size_t bit = 0; bit < 24 && 8 * begin + bit < bits.size(); ++bit)
      if (bits[8 * begin + bit]) group |= 1U << (16 - bit / 8 * 8 + bit % 8);
    for (std::size_t digit = 0; digit < 4; ++digit)
      text += begin + digit > bytes ? '=' : kDigits[group >> (18 - 6 * digit) & 63];
  }
  return text;
}

std::optional<std::vector<bool>> bits_from_text(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  std::vector<bool> bits;
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kDigits.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    group = group << 6 | static_cast<std::uint32_t>(digit);
    if (i % 4 == 0) continue;  // digits 1, 2 and 3 of four complete a byte
    const std::size_t byte = i / 4 * 3 + i % 4 - 1, left = 6 - 2 * (i % 4);
    for (std::size_t bit = 0; bit < 8; ++bit) {
      if ((group >> (left + bit) & 1) == 0) continue;
      bits.resize(8 * byte + bit + 1);
      bits.back() = true;
    }
  }
  return bits;
}

}  // namespace unstarve
