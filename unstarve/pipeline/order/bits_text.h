#pragma once
// Encodes a list of bits as base64 text (RFC 4648, section 4) for run states. The first bit is the lowest bit of the
// first byte.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve {

[[nodiscard]] std::string bits_to_text(const std::vector<bool>& bits);
// Bits up to the last one that is set; none if `text` is not base64.
[[nodiscard]] std::optional<std::vector<bool>> bits_from_text(std::string_view text);

}  // namespace unstarve
