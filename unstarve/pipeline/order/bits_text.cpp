#include "unstarve/pipeline/order/bits_text.h"

#include "unstarve/core/base64.h"

namespace unstarve {

std::string bits_to_text(const std::vector<bool>& bits) {
  std::string bytes((bits.size() + 7) / 8, '\0');
  for (std::size_t i = 0; i < bits.size(); ++i)
    if (bits[i]) bytes[i / 8] = static_cast<char>(bytes[i / 8] | 1 << i % 8);
  return to_base64(bytes);
}

std::optional<std::vector<bool>> bits_from_text(std::string_view text) {
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
