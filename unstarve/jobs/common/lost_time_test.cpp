#include "unstarve/jobs/common/lost_time.h"

#include <catch2/catch.hpp>

namespace unstarve {

TEST_CASE("time lost by two accelerators is GPU-seconds, most first") {
  RunProfile profile;
  CHECK(lost_time(profile).empty());
  CHECK(lost_time_chart(profile).bars.empty());
  profile.trace.emplace();
  profile.trace->analysed_s = 10;
  profile.trace->devices.resize(2);
  profile.trace->idle.loader_s = 1;
  profile.trace->idle.launch_s = 3;
  profile.trace->idle.logging_s = 0.0001;  // too little
  const std::vector<LostTime> lost = lost_time(profile);
  REQUIRE(lost.size() == 2);
  CHECK(lost[0].cause == "launch");
  CHECK(lost[0].seconds == 6);
  CHECK(lost[1].share == Approx(0.1));
  CHECK(lost_time_chart(profile).title.starts_with("GPU-seconds"));
  CHECK(lost_time_table(profile).rows.size() == 2);
}

TEST_CASE("time lost by a watched program is that of its main thread") {
  RunProfile profile;
  profile.watching.seconds = 100;
  profile.stacks.seconds = 4;
  profile.stacks.lines = {{"__next__", "torch/utils/data/dataloader.py", 700}, {"train", "train.py", 7}};
  profile.stacks.stacks = {{StackThread::kMain, {1, 0}, 1, 0, 4}, {StackThread::kMain, {1}, 3, 0, 4}};
  const std::vector<LostTime> lost = lost_time(profile);
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].seconds == Approx(25));
  CHECK(lost_time_chart(profile).title.starts_with("Seconds of the main thread"));
}

}  // namespace unstarve
