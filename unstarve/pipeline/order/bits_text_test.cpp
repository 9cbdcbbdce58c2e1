#include "unstarve/pipeline/order/bits_text.h"

#include <catch2/catch.hpp>

namespace unstarve {

TEST_CASE("bits are encoded as base64, lowest bit first") {
  CHECK(bits_to_text({}).empty());
  CHECK(bits_to_text({true}) == "AQ==");  // as Python's base64.b64encode(b"\x01")
  CHECK(bits_to_text({false, false, false, false, false, false, false, true, true}) == "gAE=");
  std::vector<bool> hello;  // b"Hello"
  for (const unsigned char byte : {'H', 'e', 'l', 'l', 'o'})
    for (int bit = 0; bit < 8; ++bit) hello.push_back((byte >> bit & 1) != 0);
  CHECK(bits_to_text(hello) == "SGVsbG8=");
}

TEST_CASE("decoding returns the encoded bits, for any count") {
  for (std::size_t size = 0; size < 70; ++size) {
    std::vector<bool> bits(size);
    for (std::size_t i = 0; i < size; ++i) bits[i] = i * i % 7 < 3 || i + 1 == size;
    CHECK(bits_from_text(bits_to_text(bits)) == bits);
  }
  CHECK(bits_from_text("AAAA") == std::vector<bool>{});
}

TEST_CASE("invalid base64 is rejected") {
  for (const char* const text : {"A", "AQ=", "A===", "AQ=A", "A Q=", "!!!!", "AQ==AQ=="}) {
    INFO(text);
    CHECK_FALSE(bits_from_text(text).has_value());
  }
}

}  // namespace unstarve
