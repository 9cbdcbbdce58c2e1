#pragma once
// SHA-256 by OpenSSL. Threads: pure function. Failure: Error(kInternal) if OpenSSL has no SHA-256.

#include <array>
#include <cstdint>
#include <string_view>

namespace unstarve::remote {

using Sha256 = std::array<std::uint8_t, 32>;

[[nodiscard]] Sha256 sha256(std::string_view text);

}  // namespace unstarve::remote
