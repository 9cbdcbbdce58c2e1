#pragma once
// For tests: text as bytes and back.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace unstarve::testing {

inline std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

inline std::string text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace unstarve::testing
