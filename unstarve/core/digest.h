#pragma once
// FNV-1a over numbers and texts, 64 bits: distinguishes data by chance, not against an attacker.
//
// Source: http://www.isthe.com/chongo/tech/comp/fnv/. Threads: a value. Failure: none.

#include <cstdint>
#include <string_view>

namespace unstarve {

class Digest {
 public:
  void add(std::uint64_t number) {
    for (int i = 0; i < 8; ++i) add_byte(static_cast<std::uint8_t>(number >> (8 * i)));
  }
  // With its length, so that "ab", "c" differs from "a", "bc".
  void add(std::string_view text) {
    add(text.size());
    for (const char letter : text) add_byte(static_cast<std::uint8_t>(letter));
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  void add_byte(std::uint8_t byte) { value_ = (value_ ^ byte) * 0x100000001b3ULL; }
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

}  // namespace unstarve
