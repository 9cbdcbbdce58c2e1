#include "unstarve/storage/remote/fetch.h"

#include <array>
#include <numeric>

#include <catch2/catch.hpp>

namespace unstarve::remote {

TEST_CASE("adjacent ranges share a request up to the limit") {
  std::vector<std::uint8_t> memory(100);
  const auto out = [&](std::size_t count) { return std::span(memory).first(count); };
  const std::array<ReadRange, 6> requested{
      {{0, out(10)}, {10, out(10)}, {20, out(0)}, {20, out(5)}, {40, out(1)}, {30, out(10)}}};
  const auto plan = plan_ranges(requested, 100, 20);
  REQUIRE(plan.size() == 4);
  CHECK(plan[0].first == 0);
  CHECK(plan[0].length == 20);
  CHECK(plan[0].out.size() == 2);
  CHECK(plan[1].first == 20);
  CHECK(plan[2].first == 40);
  CHECK(plan[3].first == 30);
}

TEST_CASE("a long range is split into parts of similar length that cover it exactly") {
  std::vector<std::uint8_t> memory(1001);
  const std::array<ReadRange, 1> requested{{{7, memory}}};
  const auto plan = plan_ranges(requested, 100, 50);
  CHECK(plan.size() == 11);
  std::uint64_t at = 7;
  for (const PlannedRange& part : plan) {
    CHECK(part.first == at);
    CHECK(part.length == part.out[0].size());
    CHECK(part.length <= 100);
    CHECK(part.out[0].data() == memory.data() + (at - 7));
    at += part.length;
  }
  CHECK(at == 7 + 1001);
}

TEST_CASE("pieces are written to the spans in order, from any offset") {
  std::array<std::uint8_t, 20> bytes{};
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{1});
  for (std::size_t offset = 0; offset <= 20; ++offset) {
    for (std::size_t piece = 1; piece <= 7; ++piece) {
      std::vector<std::uint8_t> a(3), b(10), c(7);
      ScatterWriter writer({a, {}, b, c}, offset);
      for (std::size_t at = offset; at < 20; at += piece) {
        writer.write(std::span(bytes).subspan(at, std::min(piece, 20 - at)));
      }
      a.insert(a.end(), b.begin(), b.end());
      a.insert(a.end(), c.begin(), c.end());
      for (std::size_t i = 0; i < 20; ++i) REQUIRE(a[i] == (i < offset ? 0 : bytes[i]));
    }
  }
}

}  // namespace unstarve::remote
