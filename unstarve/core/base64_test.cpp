#include "unstarve/core/base64.h"

#include <catch2/catch.hpp>

#include <string>
#include <utility>

namespace unstarve {

TEST_CASE("base64 is that of RFC 4648, in both directions") {
  const std::pair<std::string, std::string> cases[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"},
                                                       {std::string("\xff\x00\xfe", 3), "/wD+"}};
  for (const auto& [bytes, text] : cases) {
    CHECK(to_base64(bytes) == text);
    const auto back = from_base64(text);
    REQUIRE(back);
    CHECK(std::string(back->begin(), back->end()) == bytes);
  }
}

TEST_CASE("other text is not base64") {
  for (const char* text : {"Zg=", "Zg", "Z===", "Zm9v====", "Zm9v\n", "Zm9*", "=m9v"}) {
    CAPTURE(text);
    CHECK_FALSE(from_base64(text));
  }
}

}  // namespace unstarve
