#include "unstarve/train/settings.h"

#include <catch2/catch.hpp>

#include <limits>

#include "unstarve/core/error.h"
#include "unstarve/train/trainer.h"

namespace unstarve {

TEST_CASE("precisions survive a round trip through their names") {
  for (const Precision p : {Precision::kFloat32, Precision::kBfloat16, Precision::kFloat16}) {
    CHECK(precision_from_string(to_string(p)) == p);
  }
  CHECK_THROWS_WITH(precision_from_string("fp8"), Catch::Contains("fp8") && Catch::Contains("bfloat16"));
}

TEST_CASE("settings out of range are rejected by name") {
  const auto error_message = [](auto change) -> std::string {
    TrainSettings settings;
    change(settings);
    try {
      check_settings(settings);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kArgument);
      return error.what();
    }
    return "accepted";
  };
  using Catch::Contains;
  CHECK(error_message([](TrainSettings&) {}) == "accepted");
  CHECK_THAT(error_message([](TrainSettings& s) { s.classes = 1; }), Contains("classes"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.image_size = 0; }), Contains("image_size"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.operator_threads = -1; }), Contains("operator_threads"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.learning_rate = std::numeric_limits<double>::quiet_NaN(); }),
             Contains("learning_rate"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.momentum = 1; }), Contains("momentum"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.weight_decay = -1e-4; }), Contains("weight_decay"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.label_smoothing = 1.5; }), Contains("label_smoothing"));
  CHECK_THAT(error_message([](TrainSettings& s) { s.warmup = -0.1; }), Contains("warmup"));
}

TEST_CASE("the learning rate rises to its peak, falls linearly and is never zero or above the peak") {
  TrainSettings settings;
  settings.learning_rate = 0.4;
  settings.warmup = 0.2;
  constexpr std::int64_t kTotal = 100;
  CHECK(scheduled_rate(settings, 0, kTotal) == Approx(0.4 / 20));
  CHECK(scheduled_rate(settings, 9, kTotal) == Approx(0.2));
  CHECK(scheduled_rate(settings, 19, kTotal) == Approx(0.4));
  CHECK(scheduled_rate(settings, 60, kTotal) == Approx(0.2));
  CHECK(scheduled_rate(settings, 99, kTotal) == Approx(0.4 / 80));
  for (std::int64_t step = 0; step < kTotal; ++step) {
    CHECK(scheduled_rate(settings, step, kTotal) > 0);
    CHECK(scheduled_rate(settings, step, kTotal) <= 0.4);
  }
}

TEST_CASE("without warm-up the first step, or a single step, has the peak rate") {
  TrainSettings settings;
  settings.warmup = 0;
  CHECK(scheduled_rate(settings, 0, 10) == settings.learning_rate);
  CHECK(scheduled_rate(settings, 0, 1) == settings.learning_rate);
  CHECK(scheduled_rate(settings, 5, 0) > 0);
}

}  // namespace unstarve
