#include "unstarve/jobs/diagnose_ranks.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/jobs/common/json.h"

namespace unstarve {
namespace {

using Catch::Contains;

// A host with one rank, whose clock is ahead by `clock` seconds; other programs, and ranks that are watched by
// themselves, use `foreign` cores.
RunProfile host_of(int number, const char* host, double clock, double foreign) {
  RunProfile profile;
  profile.watching.seconds = 10;
  profile.machine.affinity_cores = 4;
  ProcessUse process;
  process.pid = 100 + number;
  process.role = ProcessRole::kMain;
  process.end_s = 10;
  process.cpu_s = process.busiest_thread_s = 10;
  process.run_delay_s = 3;
  profile.processes = {process};
  profile.machine.busy_cores = 1 + foreign;
  RankUse rank;
  rank.pid = process.pid;
  rank.numbers.global = number;
  rank.seconds = 10;
  rank.host.name = host;
  rank.host.foreign_cores = foreign;
  rank.stacks.seconds = 4;
  rank.stacks.exchange = number == 1 ? 0.1 : 0.6;
  rank.stacks.input = number == 1 ? 0.5 : 0;
  rank.steps.count = 60;
  for (int i = 0; i < 60; ++i) rank.steps.ends_s.push_back(1e9 + clock + 0.1 * i + 0.002 * ((i * i) % 11));
  profile.ranks = {rank};
  return profile;
}

TEST_CASE("files of several hosts") {
  const std::vector<RunProfile> profiles{host_of(2, "b", 0.25, 0), host_of(0, "a", 0, 2), host_of(1, "b", 0.25, 0)};
  const RanksDiagnosis diagnosis = diagnose_ranks(profiles, {"x", "y", "z"});
  REQUIRE(diagnosis.ranks.size() == 3);
  for (int i = 0; i < 3; ++i) CHECK(diagnosis.ranks[static_cast<std::size_t>(i)].numbers.global == i);
  REQUIRE(diagnosis.findings.size() == 2);
  CHECK(diagnosis.findings[0].title == "rank 1 on b delays the other ranks: its main thread waits for its loader");
  CHECK(diagnosis.findings[1].title == "other programs use the cores (rank 0 on a)");
  const Json json = parse_ordered_json(to_json(diagnosis));
  CHECK(json.at("verdict") == diagnosis.findings[0].title);
  CHECK(json.at("ranks").size() == 3);
  CHECK(json.at("clocks").size() == 2);
  CHECK(json.at("clocks")[0].at("host") == "b");
  CHECK(json.at("clocks")[0].at("seconds").get<double>() == Approx(0.25));
  CHECK(json.at("clocks")[0].at("synchronised") == true);
  CHECK_THAT(to_text(diagnosis), Contains("+250.0 +- 0.0 ms"));
}

TEST_CASE("ranks of one host that are watched by themselves are no other programs for each other") {
  const std::vector<RunProfile> profiles{host_of(0, "a", 0, 1), host_of(2, "a", 0, 1)};
  const RanksDiagnosis diagnosis = diagnose_ranks(profiles, {"x", "y"});
  CHECK(diagnosis.findings.empty());
  CHECK(diagnosis.ranks[0].host.foreign_cores == 0);
  CHECK_THAT(to_text(diagnosis), Contains("no known cause of lost time"));
}

TEST_CASE("programs that were watched for a short time permit no conclusions") {
  std::vector<RunProfile> profiles{host_of(0, "a", 0, 2), host_of(1, "b", 0, 0)};
  profiles[1].watching.seconds = 2;
  const RanksDiagnosis diagnosis = diagnose_ranks(profiles, {"x", "y"});
  CHECK(diagnosis.findings.empty());
  const std::string verdict = "a program was watched for 2.0 s: too short for conclusions, which require 3 s";
  CHECK_THAT(to_text(diagnosis), Catch::StartsWith(verdict + "\n") && !Contains("no known cause"));
  CHECK(parse_ordered_json(to_json(diagnosis)).at("verdict") == verdict);
  CHECK(report_of(diagnosis, "").curves.at(0).verdict == verdict);
}

TEST_CASE("a cause that several files have is listed once") {
  const RanksDiagnosis diagnosis =
      diagnose_ranks({host_of(0, "a", 0, 2), host_of(2, "b", 0, 3)}, std::vector<std::string>{"x", "y"});
  REQUIRE(diagnosis.findings.size() == 1);
  CHECK(diagnosis.findings[0].title == "other programs use the cores (rank 0 on a, rank 2 on b)");
}

TEST_CASE("ranks that are not in step") {
  std::vector<RunProfile> profiles{host_of(0, "a", 0, 0), host_of(1, "b", 0, 0)};
  for (std::size_t i = 0; i < 60; ++i) profiles[1].ranks[0].steps.ends_s[i] += 0.03 * static_cast<double>(i);
  const RanksDiagnosis diagnosis = diagnose_ranks(profiles, {"x", "y"});
  CHECK(diagnosis.findings.empty());
  CHECK_THAT(to_text(diagnosis), Contains("do not synchronise in every step"));
}

TEST_CASE("files that cannot be merged") {
  const RunProfile profile = host_of(0, "a", 0, 0);
  CHECK_THROWS_WITH(diagnose_ranks({profile, profile}, {"x", "y"}),
                    Contains("y: found rank 0 on a, which is also in x"));
  RunProfile other = profile;
  other.ranks[0].pid = 7;  // the same number on another host, or of another run
  CHECK_THROWS_WITH(diagnose_ranks({profile, other}, {"x", "y"}), Contains("which is also in x"));
  RunProfile later = host_of(1, "a", 0, 0);  // another run on the same host
  later.ranks[0].begin_unix_s = profile.ranks[0].begin_unix_s + 11;
  CHECK_THROWS_WITH(diagnose_ranks({later, profile}, {"x", "y"}),
                    Contains("x: found a program that began after the one of y had ended"));
  later.ranks[0].host.name = "b";  // whose clock may differ
  CHECK_NOTHROW(diagnose_ranks({later, profile}, {"x", "y"}));
  other.ranks.clear();
  CHECK_THROWS_WITH(diagnose_ranks({profile, other}, {"x", "y"}), Contains("y: found no ranks"));
  other.trace = TraceUse{};
  other.watching.seconds = 0;  // it was not watched
  CHECK_THROWS_WITH(diagnose_ranks({profile, other}, {"x", "y"}), Contains("a trace of another profiler"));
}

}  // namespace
}  // namespace unstarve
