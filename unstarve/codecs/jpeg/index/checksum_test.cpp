#include "unstarve/codecs/jpeg/index/checksum.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "unstarve/core/random.h"
#include "unstarve/core/testing/simd_test_support.h"

namespace unstarve {
namespace {

std::vector<std::uint8_t> random_bytes(std::size_t count, std::uint32_t seed) {
  Random random(seed, 0, 0, 0);
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.bits());
  return bytes;
}

}  // namespace

TEST_CASE("a checksum is the same on every instruction set and at any alignment", "[codecs]") {
  const std::vector<std::uint8_t> bytes = random_bytes(700, 90);
  testing::on_every_target([&](const std::string& target) {
    for (std::size_t count = 0; count + 40 < bytes.size(); count += count < 140 ? 1 : 37) {
      INFO(target << ", " << count << " bytes");
      for (const std::size_t from : {0, 1, 7, 33}) {
        const auto part = std::span(bytes).subspan(from, count);
        REQUIRE(checksum_of(part) == checksum_reference(part));
      }
    }
  });
}

TEST_CASE("a checksum detects every changed bit and zeros at the end", "[codecs]") {
  for (const std::uint8_t filled : {std::uint8_t{0}, std::uint8_t{255}, std::uint8_t{90}}) {
    std::vector<std::uint8_t> bytes(200, filled);
    std::set<std::uint64_t> sums{checksum_of(bytes)};
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
      CHECK(sums.insert(checksum_of(bytes)).second);
      bytes[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    }
    for (std::size_t count = 0; count < bytes.size(); ++count) {
      INFO(count << " of them");
      CHECK(sums.insert(checksum_of(std::span(bytes).first(count))).second);
    }
  }
}

TEST_CASE("a checksum detects reordered words", "[codecs]") {
  constexpr std::size_t kWords = 40;
  std::vector<std::uint8_t> bytes = random_bytes(kWords * 8, 91);
  std::set<std::uint64_t> sums{checksum_of(bytes)};
  const auto swap = [&bytes](std::size_t a, std::size_t b) {
    std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(8 * a),
                     bytes.begin() + static_cast<std::ptrdiff_t>(8 * a + 8),
                     bytes.begin() + static_cast<std::ptrdiff_t>(8 * b));
  };
  for (std::size_t a = 0; a < kWords; ++a) {
    for (std::size_t b = a + 1; b < kWords; ++b) {
      swap(a, b);
      CHECK(sums.insert(checksum_of(bytes)).second);
      swap(a, b);
    }
  }
}

}  // namespace unstarve
