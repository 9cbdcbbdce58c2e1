#include "unstarve/core/utf8.h"

#include <catch2/catch.hpp>

namespace unstarve {

TEST_CASE("UTF-8 is distinguished from other bytes") {
  for (const char* const text : {"", "cat", "caf\xc3\xa9", "\xf0\x9f\x98\x80", "a\nb"}) CHECK(is_utf8(text));
  // Latin-1, truncated, a surrogate, overlong, beyond Unicode.
  for (const char* const text : {"caf\xe9", "caf\xc3", "\xed\xb3\xa9", "\xc0\xaf", "\xf5\x80\x80\x80"})
    CHECK_FALSE(is_utf8(text));
}

}  // namespace unstarve
