#pragma once
// Reads and appends numbers in little-endian byte order. Threads: pure functions.

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace unstarve {

// Precondition: sizeof(T) bytes are readable at `bytes`.
template <class T>
[[nodiscard]] T load_little(const std::uint8_t* bytes) noexcept {
  std::make_unsigned_t<T> value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) value = static_cast<decltype(value)>(value << 8 | bytes[i]);
  return static_cast<T>(value);
}

template <class T>
void append_little(std::string& out, T value) {
  auto rest = static_cast<std::make_unsigned_t<T>>(value);
  char bytes[sizeof(T)];
  for (std::size_t i = 0; i < sizeof(T); ++i, rest = static_cast<decltype(rest)>(rest >> 4 >> 4))
    bytes[i] = static_cast<char>(rest & 255);
  out.append(bytes, sizeof(T));
}

}  // namespace unstarve
