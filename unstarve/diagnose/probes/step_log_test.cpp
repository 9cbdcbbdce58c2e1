#include "unstarve/diagnose/probes/step_log.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "unstarve/core/temporary_folder.h"

namespace unstarve {
namespace {

// A log in which step i was at i * `seconds`.
void write_log(const std::filesystem::path& path, std::int64_t count, double seconds) {
  std::vector<char> bytes(16 + 8 * 2048);
  const auto put = [&](std::size_t offset, const auto& value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
  };
  put(0, count);
  put(8, 100.0);
  for (std::int64_t i = 0; i < count; ++i)
    put(static_cast<std::size_t>(16 + 8 * (i % 2048)), 100.0 + static_cast<double>(i) * seconds);
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

TEST_CASE("step logs") {
  std::filesystem::path path;
  {
    const TemporaryFolder folder(kStepsFolder);
    path = folder.path();
    REQUIRE(std::filesystem::is_directory(path));
    CHECK(read_step_logs(path).source.empty());
    CHECK(read_first_step(path) == 0);
    write_log(path / "7.steps", 1, 0.5);
    CHECK(read_step_logs(path).source.empty());  // one step has no length
    write_log(path / "7.steps", 4, 0.5);
    write_log(path / "8.steps", 5000, 0.25);
    std::ofstream(path / "9.steps") << "short";
    const StepUse steps = read_step_logs(path);
    CHECK(steps.source == "un.step()");
    CHECK(steps.rate == Approx(4));
    CHECK(steps.count == 5000);
    CHECK(read_first_step(path) == 100);
    REQUIRE(steps.seconds.size() == 2047);
    for (const double seconds : steps.seconds) CHECK(seconds == 0.25);
    const std::map<int, RankSteps> ranks = read_rank_steps(path, 1e6);
    REQUIRE(ranks.size() == 2);
    CHECK(ranks.at(7).count == 4);
    CHECK(ranks.at(7).rate == Approx(2));
    CHECK(ranks.at(7).ends_s == std::vector<double>{1000100, 1000100.5, 1000101, 1000101.5});
    CHECK(ranks.at(8).ends_s.size() == 2048);
    CHECK(ranks.at(8).ends_s.back() == 1000100 + 4999 * 0.25);
    write_log(path / "10.steps", 5, -0.5);
    write_log(path / "x.steps", 5, 0.5);
    write_log(path / "11.steps", -5, 0.5);
    CHECK(read_rank_steps(path, 0).size() == 2);
    const std::vector<double> times = read_step_times(path, 8);
    REQUIRE(times.size() == 2048);
    CHECK(times.front() == 100 + 0.25 * (5000 - 2048));
    CHECK(times.back() == 100 + 0.25 * 4999);
    CHECK(read_step_times(path, 7).size() == 4);
    CHECK(read_step_times(path, 9).empty());
    CHECK(read_step_times(path, 12).empty());
  }
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(read_step_logs(path).source.empty());
}

}  // namespace
}  // namespace unstarve
