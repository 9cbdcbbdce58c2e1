#include "unstarve/diagnose/probes/timeline_recorder.h"

#include <catch2/catch.hpp>
#include <numeric>

namespace unstarve {
namespace {

ProcessUse process(int pid, ProcessRole role, double cpu_s, std::int64_t bytes) {
  ProcessUse use;
  use.pid = pid;
  use.role = role;
  use.cpu_s = cpu_s;
  use.storage_bytes = bytes;
  use.read_bytes = 3 * bytes;
  use.major_faults = bytes / 100;
  use.resident_bytes = 7000 + bytes;
  return use;
}

TEST_CASE("busy cores over a day, in a limited list") {
  TimelineRecorder recorder;
  double seconds = 0;
  for (int i = 0; i < 50'000; ++i, seconds += 1.7) {
    const double cpu_s = 0.5 * seconds;
    recorder.add(seconds,
                 std::vector{process(1, ProcessRole::kMain, cpu_s, 0),
                             process(2, ProcessRole::kLoader, 2 * cpu_s, std::int64_t(1000 * seconds))},
                 -1, {std::int64_t(5000 * seconds), std::int64_t(700 * seconds)});
  }
  const RunTimeline& timeline = recorder.timeline();
  CHECK(timeline.main.size() < 600);
  CHECK(timeline.interval_s * static_cast<double>(timeline.main.size()) == Approx(seconds).epsilon(0.01));
  for (std::size_t i = 0; i < timeline.main.size(); ++i) {
    CHECK(timeline.main[i] == Approx(0.5));
    CHECK(timeline.loader[i] == Approx(1));
    CHECK(timeline.other[i] == 0);
    CHECK(timeline.resident_bytes[i] == 7000);
    CHECK(timeline.storage_bytes_per_s[i] == Approx(1000).epsilon(0.01));
    CHECK(timeline.read_bytes_per_s[i] == Approx(3000).epsilon(0.01));
    CHECK(timeline.received_bytes_per_s[i] == Approx(5000).epsilon(0.01));
    CHECK(timeline.sent_bytes_per_s[i] == Approx(700).epsilon(0.01));
    CHECK(timeline.major_faults_per_s[i] == Approx(10).epsilon(0.1));
  }
}

TEST_CASE("a process that changes its role does not move the time that it has used") {
  TimelineRecorder recorder;
  recorder.add(0, std::vector{process(1, ProcessRole::kOther, 0, 0)});
  recorder.add(1, std::vector{process(1, ProcessRole::kOther, 1, 0)});
  recorder.add(2, std::vector{process(1, ProcessRole::kMain, 1.5, 0)});
  CHECK(recorder.timeline().other == std::vector<double>{1, 0});
  CHECK(recorder.timeline().main == std::vector<double>{0, 0.5});
}

TEST_CASE("the utilisation of GPUs has as many points as the other lists") {
  TimelineRecorder recorder;
  for (int i = 0; i < 3; ++i) recorder.add(i, {});
  CHECK(recorder.timeline().gpu.empty());
  recorder.add(3, {}, 0.5);
  recorder.add(4, {});
  CHECK(recorder.timeline().gpu == std::vector<double>{0, 0, 0.5, 0});
  for (int i = 5; i < 1000; ++i) {
    recorder.add(i, {}, 0.25);
    REQUIRE(recorder.timeline().gpu.size() == recorder.timeline().main.size());
  }
  CHECK(recorder.timeline().gpu.back() == 0.25);
}

}  // namespace
}  // namespace unstarve
