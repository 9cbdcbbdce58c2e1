#include "unstarve/jobs/ladder/ladder_recorder.h"

#include <catch2/catch.hpp>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace unstarve {
namespace {

TEST_CASE("spans of a ladder, its time and its progress") {
  std::vector<double> shares;
  const Progress progress = [&](std::string_view, double share) { shares.push_back(share); };
  LadderRecorder recorder(1000, progress);
  CHECK_THROWS_AS(recorder.recorded("outer",
                                    [&] {
                                      recorder.recorded("inner", [] {});
                                      throw std::runtime_error("x");
                                    }),
                  std::runtime_error);
  const std::vector<RecordedSpan> spans = recorder.take_spans();
  REQUIRE(spans.size() == 2);
  CHECK(spans[0].name == "outer");
  CHECK(spans[1].begin_s >= spans[0].begin_s);
  CHECK(spans[1].begin_s + spans[1].seconds <= spans[0].begin_s + spans[0].seconds);
  CHECK(recorder.seconds_left() <= 1000);
  recorder.report("a");
  recorder.add_not_counted(-400);  // as if 400 s were over
  CHECK(recorder.seconds_left() == Approx(600).margin(1));
  recorder.report("b");
  recorder.add_not_counted(-900);
  CHECK(recorder.seconds_left() == 0);
  recorder.report("c");
  recorder.expect(2800);  // of which 1300 s are over
  recorder.add({"block", 0, 1});
  REQUIRE(shares.size() == 4);
  CHECK(shares[3] == Approx(1300.0 / 2800).margin(0.01));
  CHECK(shares[0] < 0.01);
  CHECK(shares[1] == Approx(0.4).margin(0.01));
  CHECK(shares[2] == 1);
}

}  // namespace
}  // namespace unstarve
