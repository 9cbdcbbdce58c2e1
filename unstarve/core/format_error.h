#pragma once
// An Error with a formatted message:
//
//   throw input_error("open {}: {} bytes; expected at least {}", path, bytes, kHeaderBytes);
//
// Included by .cpp files only: core/error.h, which headers may include, does without fmt.

#include <fmt/format.h>

#include <utility>

#include "unstarve/core/error.h"

namespace unstarve {

template <class... Args>
[[nodiscard]] Error argument_error(fmt::format_string<Args...> message, Args&&... args) {
  return Error(ErrorKind::kArgument, fmt::format(message, std::forward<Args>(args)...));
}

template <class... Args>
[[nodiscard]] Error input_error(fmt::format_string<Args...> message, Args&&... args) {
  return Error(ErrorKind::kInput, fmt::format(message, std::forward<Args>(args)...));
}

template <class... Args>
[[nodiscard]] Error memory_error(fmt::format_string<Args...> message, Args&&... args) {
  return Error(ErrorKind::kMemory, fmt::format(message, std::forward<Args>(args)...));
}

template <class... Args>
[[nodiscard]] Error missing_error(fmt::format_string<Args...> message, Args&&... args) {
  return Error(ErrorKind::kMissing, fmt::format(message, std::forward<Args>(args)...));
}

template <class... Args>
[[nodiscard]] Error internal_error(fmt::format_string<Args...> message, Args&&... args) {
  return Error(ErrorKind::kInternal, fmt::format(message, std::forward<Args>(args)...));
}

}  // namespace unstarve
