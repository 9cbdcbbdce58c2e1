#include "unstarve/core/base64.h"

#include <algorithm>
#include <cstddef>

namespace unstarve {
namespace {

constexpr std::string_view kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  for (std::size_t begin = 0; begin < bytes.size(); begin += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - begin);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < count ? static_cast<std::uint8_t>(bytes[begin + i]) : std::uint8_t{0});
    for (std::size_t digit = 0; digit < 4; ++digit)
      text += digit > count ? '=' : kBase64Digits[group >> (18 - 6 * digit) & 63];
  }
  return text;
}

std::optional<std::vector<std::uint8_t>> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  std::vector<std::uint8_t> bytes;
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kBase64Digits.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    group = group << 6 | static_cast<std::uint32_t>(digit);
    if (i % 4 != 0) bytes.push_back(static_cast<std::uint8_t>(group >> (6 - 2 * (i % 4))));
  }
  return bytes;
}

std::string bits_to_base64(const std::vector<bool>& bits) {
  std::string bytes((bits.size() + 7) / 8, '\0');
  for (std::size_t i = 0; i < bits.size(); ++i)
    if (bits[i]) bytes[i / 8] = static_cast<char>(bytes[i / 8] | 1 << i % 8);
  return to_base64(bytes);
}

std::optional<std::vector<bool>> bits_from_base64(std::string_view text) {
  const auto bytes = from_base64(text);
  if (!bytes) return std::nullopt;
  std::vector<bool> bits;
  for (std::size_t i = 0; i < 8 * bytes->size(); ++i) {
    if (((*bytes)[i / 8] >> i % 8 & 1) == 0) continue;
    bits.resize(i + 1);
    bits.back() = true;
  }
  return bits;
}

}  // namespace unstarve
