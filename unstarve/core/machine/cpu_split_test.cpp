#include "unstarve/core/machine/cpu_split.h"

#include <catch2/catch.hpp>
#include <thread>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

std::vector<int> cpus_of_new_thread() {
  std::vector<int> cpus;
  std::thread([&] { cpus = cpus_of_thread(); }).join();
  return cpus;
}

TEST_CASE("operators and loader run on different CPUs, and the thread gets its CPUs back") {
  const std::vector<int> all = cpus_of_thread();
  REQUIRE_FALSE(all.empty());
  if (all.size() < 2) return;
  const int operators = static_cast<int>(all.size()) - 1;
  {
    const CpuSplit split(operators);
    CHECK(cpus_of_new_thread() == std::vector<int>(all.begin(), all.end() - 1));
    {
      const CpuSplit::LoaderScope scope(&split);
      CHECK(cpus_of_new_thread() == std::vector<int>{all.back()});
    }
    CHECK(cpus_of_thread() == std::vector<int>(all.begin(), all.end() - 1));
  }
  CHECK(cpus_of_thread() == all);
}

TEST_CASE("a split that leaves no CPU for operators or loader is rejected and changes nothing") {
  const std::vector<int> all = cpus_of_thread();
  const int count = static_cast<int>(all.size());
  for (const int operators : {-1, 0, count, count + 1}) CHECK_THROWS_AS(CpuSplit(operators), Error);
  CHECK(cpus_of_thread() == all);
}

}  // namespace
}  // namespace unstarve
