#include "unstarve/diagnose/traces/event_list.h"

#include <catch2/catch.hpp>
#include <limits>

namespace unstarve {
namespace {

TEST_CASE("events of unified memory are limited, and impossible ones are ignored") {
  UnifiedEvents events(2);
  events.add({.begin_ns = 5, .end_ns = 4});
  events.add({.begin_ns = 0, .end_ns = std::numeric_limits<std::int64_t>::max()});
  events.add({.begin_ns = 1, .end_ns = 1, .count = std::numeric_limits<std::int64_t>::max()});
  events.add({.begin_ns = 2, .end_ns = 3, .count = -1});
  CHECK(events.left_out() == 0);
  events.add({.begin_ns = 3, .end_ns = 4});
  CHECK(events.left_out() == 1);
  REQUIRE(events.events().size() == 2);
  CHECK(events.events()[0].count == std::int64_t{1} << 32);
  CHECK(events.events()[1].count == 0);
}

}  // namespace
}  // namespace unstarve
