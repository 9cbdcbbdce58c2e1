#include "unstarve/core/enum_words.h"

#include <catch2/catch.hpp>

#include <string>

namespace unstarve {
namespace {

enum class Fruit { kApple, kPear };

}  // namespace

template <>
inline constexpr std::array<std::string_view, 2> kWords<Fruit>{"apple", "pear"};

TEST_CASE("an enumeration has the words that are listed for it, in order") {
  CHECK(words_of<Fruit>().size() == 2);
  CHECK(word_of(Fruit::kApple) == "apple");
  CHECK(to_string(Fruit::kPear) == std::string("pear"));
}

}  // namespace unstarve
