#include "unstarve/storage/remote/cache/cache_bypass.h"

#include <vector>

#include <catch2/catch.hpp>

namespace unstarve::remote {

TEST_CASE("a bypass lasts a minute after the latest failure and warns once") {
  constexpr std::int64_t kSecond = 1'000'000'000;
  ManualClock clock;
  clock.advance(kSecond);
  std::vector<std::string> warnings;
  CacheBypass bypass([&](const std::string& text) { warnings.push_back(text); }, clock);
  CHECK_FALSE(bypass.active());
  bypass.start("disk full");
  clock.advance(40 * kSecond);
  CHECK(bypass.active());
  bypass.start("still full");
  clock.advance(59 * kSecond);
  CHECK(bypass.active());
  clock.advance(kSecond);
  CHECK_FALSE(bypass.active());
  CHECK(warnings == std::vector<std::string>{"disk cache: disk full; reads continue without storing"});
}

TEST_CASE("a bypass without a receiver of warnings is silent") {
  CacheBypass bypass(nullptr);
  bypass.start("disk full");
  CHECK(bypass.active());
}

}  // namespace unstarve::remote
