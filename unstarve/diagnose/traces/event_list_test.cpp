#include "unstarve/diagnose/traces/event_list.h"

#include <catch2/catch.hpp>

#include "unstarve/diagnose/traces/name_table.h"

namespace unstarve {
namespace {

TraceEvent lasting(TraceActivity activity, std::int64_t begin_ns, std::int64_t end_ns) {
  TraceEvent event;
  event.activity = activity;
  event.begin_ns = begin_ns;
  event.end_ns = end_ns;
  return event;
}

TEST_CASE("operators are given up first if there are too many events") {
  EventList list(10);
  for (int i = 0; i < 20; ++i) list.add(lasting(TraceActivity::kOperator, i, i + 1));
  list.add(lasting(TraceActivity::kKernel, 0, 1));
  CHECK(list.events().size() == 1);
  CHECK(list.left_out() == 20);
  for (int i = 0; i < 20; ++i) list.add(lasting(TraceActivity::kKernel, i, i + 1));
  CHECK(list.events().size() == 10);
  CHECK(list.left_out() == 31);
}

TEST_CASE("events with impossible times are ignored") {
  EventList list(kMostEvents);
  list.add(lasting(TraceActivity::kKernel, 5, 4));
  list.add(lasting(TraceActivity::kKernel, -kLatestNs - 1, 4));
  list.add(lasting(TraceActivity::kKernel, 0, kLatestNs + 1));
  CHECK(list.events().empty());
  CHECK(list.left_out() == 0);
}

TEST_CASE("only kernels and copies may have no duration") {
  EventList list(kMostEvents);
  for (const TraceActivity activity : {TraceActivity::kKernel, TraceActivity::kCopy, TraceActivity::kMemset,
                                       TraceActivity::kLaunch, TraceActivity::kStep})
    list.add(lasting(activity, 7, 7));
  REQUIRE(list.events().size() == 2);
  CHECK(list.events()[1].activity == TraceActivity::kCopy);
}

TEST_CASE("equal texts have one number") {
  NameTable table;
  CHECK(table.id("gemm") == 0);
  CHECK(table.id("") == 1);
  CHECK(table.id("gemm") == 0);
  CHECK(table.size() == 2);
  CHECK(table.name(0) == "gemm");
  const NameTable copy = table;
  for (int i = 0; i < 1000; ++i) (void)table.id(std::to_string(i));
  CHECK(table.name(1001) == "999");
  CHECK(copy.size() == 2);
  CHECK(copy.name(0) == "gemm");
}

}  // namespace
}  // namespace unstarve
