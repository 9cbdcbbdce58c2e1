#pragma once
// The words of enumerations, as in files, JSON, reports and on the command line. They are listed next to the
// enumeration, in the order of its values, which count from 0:
//
//   enum class Fruit { kApple, kPear };
//   template <>
//   inline constexpr std::array<std::string_view, 2> kWords<Fruit>{"apple", "pear"};
//
// Threads: constants and pure functions. Failure: none.

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace unstarve {

template <class Enum>
inline constexpr std::array<std::string_view, 0> kWords{};

template <class Enum>
[[nodiscard]] constexpr std::span<const std::string_view> words_of() noexcept {
  return kWords<Enum>;
}

template <class Enum>
[[nodiscard]] constexpr std::string_view word_of(Enum value) noexcept {
  return words_of<Enum>()[static_cast<std::size_t>(value)];
}

// The word as a C string: words are literals.
template <class Enum>
requires(!kWords<Enum>.empty()) [[nodiscard]] constexpr const char* to_string(Enum value) noexcept {
  return word_of(value).data();
}

}  // namespace unstarve
