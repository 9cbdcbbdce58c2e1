#include "unstarve/pipeline/delivery/batch_fill.h"

#include <catch2/catch.hpp>
#include <string>

namespace unstarve {
namespace {

TEST_CASE("batch fill: the claim that finishes the last sample is the last one") {
  BatchFill fill(5);
  CHECK_FALSE(fill.finish(2, {}, 0));
  CHECK_FALSE(fill.finish(2, {}, 0));
  CHECK(fill.finish(1, {}, 0));
  CHECK_FALSE(fill.failure());
  CHECK_FALSE(fill.complete());
  fill.set_complete();
  CHECK(fill.complete());
}

TEST_CASE("batch fill: the failure at the lowest position is kept, whichever is reported first") {
  for (const bool ascending : {false, true}) {
    BatchFill fill(3);
    for (int i = 0; i < 3; ++i) {
      const int at = ascending ? i : 2 - i;
      (void)fill.finish(1, at == 0 ? std::optional<Error>() : Error(ErrorKind::kInput, "at " + std::to_string(at)),
                        static_cast<std::size_t>(at));
    }
    REQUIRE(fill.failure());
    CHECK(std::string(fill.failure()->what()) == "at 1");
  }
  BatchFill fill(1);
  (void)fill.finish(1, {}, 0);
  fill.fail(Error(ErrorKind::kInput, "mixup"));
  CHECK(std::string(fill.failure()->what()) == "mixup");
}

TEST_CASE("batch fill: positions are given out in order") {
  BatchFill fill(2);
  CHECK(fill.place() == 0);
  CHECK(fill.place() == 1);
  CHECK(fill.placed() == 2);
}

}  // namespace
}  // namespace unstarve
