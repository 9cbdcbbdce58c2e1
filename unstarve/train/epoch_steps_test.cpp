#include "unstarve/train/epoch_steps.h"

#include <catch2/catch.hpp>

namespace unstarve {

TEST_CASE("epochs of equal length") {
  const EpochSteps steps(4);
  CHECK(steps.known());
  CHECK_FALSE(EpochSteps().known());
  CHECK(steps.before(3) == 12);
  CHECK(steps.steps_of(2.5) == 10);
  CHECK(steps.steps_of(0.1) == 1);
  CHECK(steps.epochs_at(10) == 2.5);
  CHECK(steps.epochs_at(-2) == -0.5);
  CHECK(steps.full_steps_at(7) == 7);
  CHECK(steps.full_steps_at(-3) == -3);
}

TEST_CASE("decimal fractions of an epoch have no additional step") {
  for (const std::int64_t length : {5, 10, 20, 100, 1000, 5005, 40'040}) {
    for (std::int64_t tenths = 1; tenths < 2000; ++tenths) {
      if (tenths * length % 10 != 0) continue;
      CAPTURE(length, tenths);
      REQUIRE(EpochSteps(length).steps_of(static_cast<double>(tenths) / 10) == tenths * length / 10);
    }
  }
  CHECK(EpochSteps(40'040).steps_of(2 + 1.5 / 40'040) == 2 * 40'040 + 2);
}

TEST_CASE("the first epochs have fewer steps") {
  const EpochSteps steps(8, {2, 4});
  CHECK(steps.of_epoch(0) == 2);
  CHECK(steps.of_epoch(2) == 8);
  CHECK(steps.before(0) == 0);
  CHECK(steps.before(2) == 6);
  CHECK(steps.before(4) == 22);
  CHECK(steps.steps_of(1) == 2);
  CHECK(steps.steps_of(1.5) == 4);
  CHECK(steps.steps_of(2.01) == 7);
  CHECK(steps.epochs_at(1) == 0.5);
  CHECK(steps.epochs_at(2) == 1);
  CHECK(steps.epochs_at(3) == 1.25);
  CHECK(steps.epochs_at(10) == 2.5);
  CHECK(steps.full_steps_at(1) == 4);
  CHECK(steps.full_steps_at(6) == 16);
  CHECK(steps.full_steps_at(9) == 19);
}

}  // namespace unstarve
