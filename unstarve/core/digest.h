#pragma once
// FNV-1a over numbers and texts, 64 bits: distinguishes data by chance, not against an attacker.
//
// Its values never change: names of files and fingerprints of data depend on them.
// Source: http://www.isthe.com/chongo/tech/comp/fnv/. Threads: a value. Failure: none.

#include <cstdint>
#include <string_view>

namespace unstarve {

inline constexpr std::uint64_t kFnvBegin = 0xcbf29ce484222325;

// The hash of data that ends with `byte`, from the hash of the data before it.
[[nodiscard]] constexpr std::uint64_t fnv1a_step(std::uint64_t before, std::uint64_t byte) noexcept {
  return (before ^ byte) * 0x100000001b3;
}
[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t before = kFnvBegin) noexcept {
  std::uint64_t hash = before;
  for (const char letter : text) hash = fnv1a_step(hash, static_cast<std::uint8_t>(letter));
  return hash;
}

class Digest {
 public:
  void add(std::uint64_t number) {
    for (int i = 0; i < 8; ++i) value_ = fnv1a_step(value_, static_cast<std::uint8_t>(number >> (8 * i)));
  }
  // With its length, so that "ab", "c" differs from "a", "bc".
  void add(std::string_view text) {
    add(text.size());
    value_ = fnv1a(text, value_);
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = kFnvBegin;
};

}  // namespace unstarve
