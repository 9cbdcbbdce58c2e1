#pragma once
// SHA-256 and HMAC-SHA-256 by OpenSSL. Threads: pure functions. Failure: Error(kInternal) if OpenSSL has no SHA-256.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace unstarve::remote {

using Sha256 = std::array<std::uint8_t, 32>;

[[nodiscard]] Sha256 sha256(std::string_view text);
[[nodiscard]] Sha256 hmac_sha256(std::span<const std::uint8_t> key, std::string_view text);

}  // namespace unstarve::remote
