#include "unstarve/diagnose/probes/process_ranks.h"

#include <catch2/catch.hpp>
#include <vector>

#include "unstarve/core/clock.h"
#include "unstarve/core/file.h"
#include "unstarve/core/process/child_process.h"

namespace unstarve {
namespace {

ProcessUse running(int pid, ProcessRole role) {
  ProcessUse process;
  process.pid = pid;
  process.role = role;
  return process;
}

TEST_CASE("the numbers of ranks are read once from the environment of processes that train") {
  const std::map<std::string, std::string> environment{{"RANK", "3"}, {"LOCAL_RANK", "1"}};
  const ChildProcess rank({"/bin/sleep", "600"}, {}, &environment);
  const std::string file = "/proc/" + std::to_string(rank.id()) + "/environ";
  const double end_s = seconds_now() + 60;
  while (read_text_file(file).find("LOCAL_RANK=1") == std::string::npos)
    REQUIRE(seconds_now() < end_s);  // until exec()
  ProcessRanks ranks;
  std::vector processes{running(rank.id(), ProcessRole::kLoader)};
  ranks.read(processes);
  CHECK(ranks.numbers().empty());
  processes[0].role = ProcessRole::kMain;
  processes[0].ended = true;  // another process may have its number
  ranks.read(processes);
  CHECK(ranks.numbers().empty());
  processes[0].ended = false;
  processes.push_back(running(999'999'999, ProcessRole::kMain));  // cannot be read
  ranks.read(processes);
  CHECK(ranks.numbers() == std::map<int, RankNumbers>{{rank.id(), {3, 1}}, {999'999'999, {}}});
}

}  // namespace
}  // namespace unstarve
