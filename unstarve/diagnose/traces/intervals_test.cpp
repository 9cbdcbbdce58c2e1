#include "unstarve/diagnose/traces/intervals.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

TEST_CASE("intervals are merged") {
  Intervals set;
  set.add(20, 30);
  set.add(0, 10);
  set.add(5, 12);
  set.add(12, 15);  // touches
  set.add(22, 25);  // inside
  set.add(40, 40);  // empty
  set.close();
  REQUIRE(set.list().size() == 2);
  CHECK(set.list()[0].begin == 0);
  CHECK(set.list()[0].end == 15);
  CHECK(set.list()[1].end == 30);
}

TEST_CASE("overlap is the same as that of a plain count") {
  Intervals set;
  set.add(3, 7);
  set.add(10, 11);
  set.add(15, 20);
  set.close();
  const auto in_set = [](std::int64_t t) { return (t >= 3 && t < 7) || t == 10 || (t >= 15 && t < 20); };
  for (std::int64_t begin = -1; begin < 22; ++begin) {
    CHECK(set.contains(begin) == in_set(begin));
    for (std::int64_t end = begin; end < 23; ++end) {
      std::int64_t expected = 0;
      for (std::int64_t t = begin; t < end; ++t) expected += in_set(t) ? 1 : 0;
      CHECK(set.overlap(begin, end) == expected);
    }
  }
}

TEST_CASE("an empty set overlaps with nothing") {
  Intervals set;
  CHECK(set.overlap(0, 10) == 0);
  set.close();
  CHECK(set.empty());
  CHECK(set.overlap(0, 10) == 0);
  CHECK_FALSE(set.contains(5));
}

}  // namespace
}  // namespace unstarve
