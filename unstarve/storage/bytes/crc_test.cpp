#include "unstarve/storage/bytes/crc.h"

#include <catch2/catch.hpp>
#include <string_view>
#include <vector>

#include "unstarve/core/random.h"
#include "unstarve/storage/bytes/text.h"

namespace unstarve {
namespace {

TEST_CASE("CRC-32C has its published check values") {
  CHECK(crc32c({}) == 0);
  CHECK(crc32c(as_bytes("123456789")) == 0xE3069283);             // the catalogue's check value for CRC-32/ISCSI
  CHECK(crc32c(std::vector<std::uint8_t>(32, 0)) == 0x8A9136AA);  // RFC 3720, B.4
  CHECK(crc32c(std::vector<std::uint8_t>(32, 0xff)) == 0x62A8AB43);
  CHECK(crc32c_scalar(as_bytes("123456789")) == 0xE3069283);
}

TEST_CASE("the instruction and the tables give the same CRC-32C for every length and alignment") {
  std::vector<std::uint8_t> bytes(40'000);
  Random random(3, 0, 0, 0);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.below(256));
  const std::span<const std::uint8_t> all(bytes);
  std::vector<std::size_t> lengths;
  for (std::size_t length = 0; length < 900; ++length) lengths.push_back(length);
  for (const std::size_t near : {6144u, 12288u, 12672u, 39900u}) {
    for (std::size_t length = near - 9; length < near + 10; ++length) lengths.push_back(length);
  }
  for (const std::size_t length : lengths) {
    const auto part = all.subspan(length % 17, length);
    CHECK(crc32c(part) == crc32c_scalar(part));
    CHECK(crc32c(part, 0x12345678) == crc32c_scalar(part, 0x12345678));
  }
  for (const std::size_t cut : {1u, 63u, 7000u}) CHECK(crc32c(all.subspan(cut), crc32c(all.first(cut))) == crc32c(all));
}

}  // namespace
}  // namespace unstarve
