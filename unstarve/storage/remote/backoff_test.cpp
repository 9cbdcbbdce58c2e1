#include "unstarve/storage/remote/backoff.h"

#include <catch2/catch.hpp>

namespace unstarve::remote {

using namespace std::chrono_literals;

TEST_CASE("waits double up to the longest, minus at most a random half") {
  Backoff backoff(100ms, 1000ms, 7);
  const std::chrono::milliseconds full[] = {100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms};
  for (int attempt = 1; attempt <= 6; ++attempt) {
    const auto wait = backoff.wait_after(attempt, std::nullopt);
    CHECK(wait >= full[attempt - 1] / 2);
    CHECK(wait <= full[attempt - 1]);
  }
  CHECK(backoff.wait_after(1'000'000, std::nullopt) <= 1000ms);
}

TEST_CASE("waits depend on the seed") {
  Backoff one(100ms, 1000ms, 1), same(100ms, 1000ms, 1), other(100ms, 1000ms, 2);
  const auto wait = one.wait_after(3, std::nullopt);
  CHECK(wait == same.wait_after(3, std::nullopt));
  CHECK(wait != other.wait_after(3, std::nullopt));
}

TEST_CASE("a longer Retry-After is respected, a shorter one has no effect") {
  Backoff backoff(100ms, 1000ms, 3);
  const auto wait = backoff.wait_after(1, 5s);
  CHECK(wait >= 5s);
  CHECK(wait <= 5500ms);
  CHECK(backoff.wait_after(4, 0s) >= 400ms);
  CHECK(backoff.wait_after(1, std::chrono::seconds::max()) >= std::chrono::years(1));
}

}  // namespace unstarve::remote
