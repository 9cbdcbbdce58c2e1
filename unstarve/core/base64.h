#pragma once
// Bytes as base64 text (RFC 4648, section 4).
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

}  // namespace unstarve
