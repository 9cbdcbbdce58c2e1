#pragma once
// For tests: text as bytes and back, and what an Error says.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "unstarve/core/error.h"

namespace unstarve::testing {

inline std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

inline std::string text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The message of the Error(kInput) that `call` throws; "no error" without one.
template <class Call>
std::string refusal(const Call& call) {
  try {
    (void)call();
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kInput ? error.what() : std::string("not kInput: ") + error.what();
  }
  return "no error";
}

}  // namespace unstarve::testing
