#include "unstarve/observe/accelerator.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/statistics.h"

using namespace unstarve;

namespace {

// Each reading takes 100 ns; each sleep returns `oversleep_ns` late.
class SleepyClock final : public Clock {
 public:
  explicit SleepyClock(std::int64_t oversleep_ns) : oversleep_ns_(oversleep_ns) {}
  [[nodiscard]] std::int64_t now_ns() const override { return now_ += 100; }
  void sleep_until(std::int64_t deadline_ns) override {
    ++sleeps;
    if (deadline_ns > now_) now_ = deadline_ns;
    now_ += oversleep_ns_;
  }
  void pass(std::int64_t ns) { now_ += ns; }
  int sleeps = 0;

 private:
  std::int64_t oversleep_ns_;
  mutable std::int64_t now_ = 0;
};

}  // namespace

TEST_CASE("the models match MLPerf Storage: unique names, plausible figures", "[accelerator]") {
  std::set<std::string_view> names;
  for (const AcceleratorModel& model : accelerator_models()) {
    CAPTURE(model.name);
    CHECK(names.insert(model.name).second);
    CHECK(model.batch > 0);
    CHECK(model.step_ns > 0);
    CHECK(model.sample_bytes > 0);
    CHECK((model.min_utilisation == 0 || (model.min_utilisation >= 0.7 && model.min_utilisation < 1)));
  }
  const AcceleratorModel& h100 = find_accelerator("h100-resnet50");
  CHECK(h100.batch == 400);
  CHECK(h100.step_ns == 224'000'000);
  CHECK(h100.batch * 1e9 / static_cast<double>(h100.step_ns) == Approx(1786).epsilon(0.001));
  const AcceleratorModel& b200 = find_accelerator("b200-retinanet");
  CHECK(b200.batch * 1e9 / static_cast<double>(b200.step_ns) == Approx(505).epsilon(0.001));
}

TEST_CASE("the error for an unknown accelerator lists the known ones", "[accelerator]") {
  try {
    (void)find_accelerator("tpu-resnet50");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kArgument);
    CHECK(std::string(error.what()).find("tpu-resnet50") != std::string::npos);
    for (const AcceleratorModel& model : accelerator_models()) {
      CHECK(std::string(error.what()).find(model.name) != std::string::npos);
    }
  }
}

TEST_CASE("an accelerator is found by its name and workload, or what exists for them is listed", "[accelerator]") {
  CHECK(find_accelerator("h100", "unet3d").name == "h100-unet3d");
  CHECK(find_accelerator("b200", "retinanet").images);
  CHECK_FALSE(find_accelerator("h100", "cosmoflow").images);
  const auto message = [](const char* accelerator, const char* workload) {
    try {
      (void)find_accelerator(accelerator, workload);
    } catch (const Error& error) {
      return std::string(error.kind() == ErrorKind::kArgument ? error.what() : "");
    }
    return std::string();
  };
  CHECK(
      message("h100", "retinanet") ==
      "accelerator h100, workload retinanet: MLPerf Storage has no such pair; expected resnet50, unet3d, cosmoflow for "
      "h100, or b200, mi355 for retinanet");
  CHECK_THAT(message("tpu", "bert"), Catch::EndsWith("expected v100 for bert"));
  CHECK_THAT(message("tpu", "chess"), Catch::Contains("one of h100-resnet50, "));
}

TEST_CASE("the time per sample does not depend on the batch size", "[accelerator]") {
  SleepyClock clock(0);
  const AcceleratorModel& model = find_accelerator("h100-resnet50");
  CHECK(EmulatedAccelerator(model, 400, clock).step_ns() == 224'000'000);
  CHECK(EmulatedAccelerator(model, 100, clock).step_ns() == 56'000'000);
  CHECK(EmulatedAccelerator(model, 1, clock).step_ns() == 560'000);
  CHECK_THROWS_AS(EmulatedAccelerator(model, 0, clock), Error);
}

TEST_CASE("a sleep that returns late does not make the step longer", "[accelerator]") {
  SleepyClock clock(83'000);  // as measured for a sleep of 3.5 ms
  EmulatedAccelerator accelerator(find_accelerator("h100-resnet50"), 400, clock);
  const std::int64_t start = clock.now_ns();
  accelerator.step();
  const std::int64_t held = clock.now_ns() - start;
  CHECK(held >= accelerator.step_ns());
  CHECK(held <= accelerator.step_ns() + 300);
  CHECK(clock.sleeps == 1);
}

TEST_CASE("a step shorter than the spin does not sleep at all", "[accelerator]") {
  SleepyClock clock(65'000);
  AcceleratorModel quick = find_accelerator("b200-dlrm");
  quick.step_ns = 200'000;
  EmulatedAccelerator accelerator(quick, quick.batch, clock);
  const std::int64_t start = clock.now_ns();
  accelerator.step();
  CHECK(clock.now_ns() - start >= 200'000);
  CHECK(clock.now_ns() - start <= 200'600);
  CHECK(clock.sleeps == 0);
}

TEST_CASE("only nominal time counts as work; an oversleep is a loss", "[accelerator]") {
  SleepyClock clock(2'000'000);  // far beyond the spin
  EmulatedAccelerator accelerator(find_accelerator("h100-resnet50"), 40, clock);
  const std::int64_t start = clock.now_ns();
  for (int i = 0; i < 10; ++i) accelerator.step();
  const std::int64_t wall = clock.now_ns() - start;
  CHECK(accelerator.nominal_compute_ns() == 10 * accelerator.step_ns());
  CHECK(wall >= accelerator.nominal_compute_ns() + 10 * 1'600'000);
}

TEST_CASE("a step from a given start ends on time however late the call returns", "[accelerator]") {
  SleepyClock clock(2'000'000);
  EmulatedAccelerator accelerator(find_accelerator("h100-resnet50"), 40, clock);
  const std::int64_t start = clock.now_ns();
  std::int64_t end = start;
  for (int i = 0; i < 10; ++i) end = accelerator.step_from(end);
  CHECK(end == start + 10 * accelerator.step_ns());
  CHECK(clock.now_ns() >= end);
  CHECK(clock.now_ns() <= end + 2'000'200);  // lateness does not add up
  CHECK(clock.sleeps == 10);
  CHECK(accelerator.nominal_compute_ns() == 10 * accelerator.step_ns());
}

TEST_CASE("each hold starts at its own call; waiting time is not compensated", "[accelerator]") {
  SleepyClock clock(0);
  EmulatedAccelerator accelerator(find_accelerator("h100-resnet50"), 40, clock);
  accelerator.step();
  clock.pass(500'000'000);
  const std::int64_t start = clock.now_ns();
  accelerator.step();
  CHECK(clock.now_ns() - start >= accelerator.step_ns());
}

TEST_CASE("on the real clock no step is shorter than its nominal time, and most are close", "[accelerator]") {
  AcceleratorModel model = find_accelerator("h100-cosmoflow");
  model.step_ns = 2'000'000;
  EmulatedAccelerator accelerator(model, model.batch);
  std::vector<double> held_ms;
  for (int i = 0; i < 25; ++i) {
    const std::int64_t start = steady_clock().now_ns();
    accelerator.step();
    held_ms.push_back(static_cast<double>(steady_clock().now_ns() - start) / 1e6);
  }
  // The lower bound applies to all steps, the upper one to the fastest, so that a busy machine cannot fail the test.
  CHECK(quantile(held_ms, 0) >= 2.0);
  CHECK(quantile(held_ms, 0) <= 2.5);
}
