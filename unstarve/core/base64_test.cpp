#include "unstarve/core/base64.h"

#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

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

TEST_CASE("bits are encoded as base64, lowest bit first") {
  CHECK(bits_to_base64({}).empty());
  CHECK(bits_to_base64({true}) == "AQ==");  // as Python's base64.b64encode(b"\x01")
  CHECK(bits_to_base64({false, false, false, false, false, false, false, true, true}) == "gAE=");
  std::vector<bool> hello;  // b"Hello"
  for (const unsigned char byte : {'H', 'e', 'l', 'l', 'o'})
    for (int bit = 0; bit < 8; ++bit) hello.push_back((byte >> bit & 1) != 0);
  CHECK(bits_to_base64(hello) == "SGVsbG8=");
}

TEST_CASE("decoding base64 returns the encoded bits, for any count") {
  for (std::size_t size = 0; size < 70; ++size) {
    std::vector<bool> bits(size);
    for (std::size_t i = 0; i < size; ++i) bits[i] = i * i % 7 < 3 || i + 1 == size;
    CHECK(bits_from_base64(bits_to_base64(bits)) == bits);
  }
  CHECK(bits_from_base64("AAAA") == std::vector<bool>{});
}

TEST_CASE("bits of invalid base64 are rejected") {
  for (const char* const text : {"A", "AQ=", "A===", "AQ=A", "A Q=", "!!!!", "AQ==AQ=="}) {
    INFO(text);
    CHECK_FALSE(bits_from_base64(text).has_value());
  }
}

}  // namespace unstarve
