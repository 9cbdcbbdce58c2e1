// Compares the removal of byte stuffing with a loop over bytes.
#include "unstarve/codecs/jpeg/entropy/entropy_bytes.h"

#include <catch2/catch.hpp>

#include "unstarve/core/random.h"
#include "unstarve/core/testing/simd_test_support.h"

namespace unstarve {
namespace {

struct ExpectedBytes {
  std::vector<std::uint8_t> bytes;
  std::vector<std::size_t> ends;
  int marker = -1;
};

ExpectedBytes plainly(const std::vector<std::uint8_t>& scan, bool restarts) {
  ExpectedBytes expected;
  std::size_t i = 0;
  for (; i < scan.size(); ++i) {
    if (scan[i] != 0xFF) {
      expected.bytes.push_back(scan[i]);
      continue;
    }
    if (i + 1 == scan.size()) break;
    const int next = scan[++i];
    if (next == 0) {
      expected.bytes.push_back(0xFF);
    } else if (restarts && next == 0xD0 + static_cast<int>(expected.ends.size() % 8)) {
      expected.ends.push_back(expected.bytes.size());
    } else {
      expected.marker = next;
      break;
    }
  }
  expected.ends.push_back(expected.bytes.size());
  return expected;
}

}  // namespace

TEST_CASE("stuffing and restart markers are removed at any position", "[codecs]") {
  testing::on_every_target([](const std::string& target) {
    INFO(target);
    EntropyBytes bytes;
    for (std::uint32_t round = 0; round < 2000; ++round) {
      Random random(41, 0, round, 0);
      std::vector<std::uint8_t> scan(random.below(300));
      const std::uint32_t rarity = 2 + random.below(60);
      int restart = 0;
      for (std::size_t i = 0; i < scan.size(); ++i) {
        if (random.below(rarity) != 0 || i + 1 == scan.size()) {
          scan[i] = static_cast<std::uint8_t>(random.bits());
          continue;
        }
        scan[i++] = 0xFF;
        const std::uint32_t kind = random.below(40);
        scan[i] = static_cast<std::uint8_t>(kind == 0 ? 0xD9 : kind < 6 ? 0xD0 + restart++ % 8 : kind == 6 ? 0xFF : 0);
      }
      const bool restarts = random.below(2) == 0;
      const ExpectedBytes expected = plainly(scan, restarts);
      bytes.assign(scan, restarts);
      REQUIRE(bytes.segment_ends() == expected.ends);
      REQUIRE(bytes.end_marker() == expected.marker);
      REQUIRE(std::equal(expected.bytes.begin(), expected.bytes.end(), bytes.data()));
      bool slack_is_zero = true;
      for (std::size_t i = 0; i < EntropyBytes::kSlack; ++i) {
        slack_is_zero = slack_is_zero && bytes.data()[expected.bytes.size() + i] == 0;
      }
      REQUIRE(slack_is_zero);
    }
  });
}

}  // namespace unstarve
