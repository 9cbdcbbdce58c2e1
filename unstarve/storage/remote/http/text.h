#pragma once
// Text functions for URLs and headers. Threads: pure functions.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "unstarve/storage/bytes/text.h"

namespace unstarve::remote {

// Encodes all but RFC 3986's unreserved characters as %XX; '/' is unchanged if `keep_slash`.
[[nodiscard]] std::string percent_encode(std::string_view text, bool keep_slash);
// Encodes what no URL may contain, as %XX: spaces, control characters, bytes from 128 on, '#', and each '%' without two
// hexadecimal digits. What is encoded already, and '?', are unchanged.
[[nodiscard]] std::string percent_encode_invalid(std::string_view text);
// Nothing for a '%' without two hexadecimal digits.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);
// Lower-case hexadecimal digits.
[[nodiscard]] std::string hex(std::span<const std::uint8_t> bytes);
// Whether `text` contains a control character (below 32, or 127).
[[nodiscard]] bool has_control(std::string_view text) noexcept;

}  // namespace unstarve::remote
