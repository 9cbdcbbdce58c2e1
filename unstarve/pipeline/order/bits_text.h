#pragma once
// Bits as text, for states: bytes, the first bit the lowest of the first byte, in base64 (RFC 4648, section 4).
//
// Threads: plain functions.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve {

[[nodiscard]] std::string bits_to_text(const std::vector<bool>& bits);
// Up to the last bit that is set; nothing where `text` is no base64.
[[nodiscard]] std::optional<std::vector<bool>> bits_from_text(std::string_view text);

}  // namespace unstarve
