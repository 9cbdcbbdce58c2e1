#pragma once
// Bytes, or a list of bits, as base64 text (RFC 4648, section 4).
//
// Threads: pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve {

[[nodiscard]] std::string to_base64(std::string_view bytes);
// Nothing if the text is not base64.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> from_base64(std::string_view text);

// The first bit is the lowest bit of the first byte.
[[nodiscard]] std::string bits_to_base64(const std::vector<bool>& bits);
// Bits up to the last one that is set; nothing if the text is not base64.
[[nodiscard]] std::optional<std::vector<bool>> bits_from_base64(std::string_view text);

}  // namespace unstarve
