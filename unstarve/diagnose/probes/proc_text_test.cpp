#include "unstarve/diagnose/probes/proc_text.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace unstarve {
namespace {

TEST_CASE("stat of a task whose name contains blanks and parentheses") {
  const auto stat = parse_task_stat(
      "4711 (a) (b c) S 12 4711 4711 0 -1 4194304 155 44 7 9 250 130 30 12 20 0 3 0 76152 18026496 1330 "
      "18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 1 0 0 0 0 0\n");
  REQUIRE(stat);
  CHECK(stat->name == "a) (b c");
  CHECK(stat->state == 'S');
  CHECK(stat->parent == 12);
  CHECK(stat->minor_faults == 155);
  CHECK(stat->major_faults == 7);
  CHECK(stat->cpu_ticks == 380);
  CHECK(stat->system_ticks == 130);
  CHECK(stat->ended_ticks == 42);
  CHECK(stat->threads == 3);
  CHECK(stat->start_ticks == 76152);
  CHECK(stat->resident_pages == 1330);
}

TEST_CASE("every prefix of stat is rejected or complete") {
  const std::string_view whole = "1 (x) R 0 1 1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 9 10 11 ";
  REQUIRE(parse_task_stat(whole));
  const std::size_t complete = whole.rfind("11") + 1;  // "1" is a number, too
  for (std::size_t size = 0; size < complete; ++size) CHECK_FALSE(parse_task_stat(whole.substr(0, size)));
}

TEST_CASE("times and counts of a task") {
  const auto times = parse_run_times("186008180 9003322 356\n");
  REQUIRE(times);
  CHECK(times->running_ns == 186008180);
  CHECK(times->waiting_ns == 9003322);
  CHECK_FALSE(parse_run_times(""));
  CHECK(parse_voluntary_switches("Name:\tsh\nvoluntary_ctxt_switches:\t95\nnonvoluntary_ctxt_switches:\t33\n") == 95);
  CHECK_FALSE(parse_voluntary_switches("Name:\tsh\n"));
  const auto io = parse_io_counts(
      "rchar: 6998\nwchar: 22\nsyscr: 12\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n");
  REQUIRE(io);
  CHECK(io->read_bytes == 6998);
  CHECK(io->read_calls == 12);
  CHECK(io->storage_bytes == 4096);
  CHECK(io->written_bytes == 8192);
  CHECK_FALSE(parse_io_counts("rchar: 1\n"));
  CHECK(parse_command_line(std::string_view("python\0-c\0\0x y", 15)) ==
        std::vector<std::string>{"python", "-c", "", "x y"});
}

TEST_CASE("the system call of a thread") {
  const auto call =
      parse_system_call("202 0x7f6d5c0a1b20 0x189 0x0 0x0 0x0 0xffffffff 0x7ffd9a8a4d40 0x7f6d66c8ce36\n");
  REQUIRE(call);
  CHECK(call->number == 202);
  CHECK(call->argument == 0x7f6d5c0a1b20);
  CHECK(call->second == 0x189);
  const auto running = parse_system_call("running\n");
  REQUIRE(running);
  CHECK(running->number == SystemCall::kNone);
  REQUIRE(parse_system_call("-1 0x7ffd9a8a4d40 0x7f6d66c8ce36\n"));  // waits outside of a system call
  for (const char* text : {"", "x", "3", "3 5", "3 0xg", "3 0x1", "3 0x1 2", "-2 0x1 0x2", "3 0x11111111111111111 0x0"})
    CHECK_FALSE(parse_system_call(text));
}

TEST_CASE("counts of the machine") {
  CHECK(parse_pressure_us("some avg10=1.88 avg60=1.69 avg300=14.13 total=417282083\n"
                          "full avg10=0.00 avg60=0.00 avg300=0.00 total=1\n") == 417282083);
  CHECK_FALSE(parse_pressure_us("full avg10=0.00 total=1\n"));
  const std::string_view stat =
      "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 10 20 30 400 50 6 7 8 0 0\ncpu1 1 1 1 1 1 1 1 1 0 0\ncpu12 1 0 0 2 0 0 0 3 0 0\n"
      "intr 1 2\n";
  const auto ticks = parse_cpu_ticks(stat, {0, 12});
  REQUIRE(ticks);
  REQUIRE(ticks->size() == 2);
  CHECK(ticks->at(0).busy == 73);
  CHECK(ticks->at(0).idle == 450);
  CHECK(ticks->at(0).stolen == 8);
  CHECK(ticks->at(12).busy == 1);
  CHECK_FALSE(parse_cpu_ticks(stat, {7}));
  CHECK_FALSE(parse_cpu_ticks("cpu0 1 2 3\n", {0}));
  CHECK(parse_allowed_cpus("Name:\tx\nCpus_allowed_list:\t0-2,8,10-11\n") == std::set<int>{0, 1, 2, 8, 10, 11});
  CHECK(parse_allowed_cpus("Cpus_allowed_list:\t5\n") == std::set<int>{5});
  for (const char* const text :
       {"", "Cpus_allowed_list:\n", "Cpus_allowed_list: 3-1\n", "Cpus_allowed_list: 0-99999999\n",
        "Cpus_allowed_list: a\n", "Cpus_allowed_list: 1,,2\n"})
    CHECK(parse_allowed_cpus(text).empty());
  const auto periods = parse_quota_periods("usage_usec 5\nnr_periods 30\nnr_throttled 3\nthrottled_usec 1234\n");
  REQUIRE(periods);
  CHECK(periods->all == 30);
  CHECK(periods->stopped == 3);
  CHECK_FALSE(parse_quota_periods("usage_usec 5\n"));
  const auto network = parse_network_bytes(
      "Inter-|   Receive\n face |bytes packets\n    lo: 500 1 0 0 0 0 0 0 500 1\n  eth0: 1000 3 0 0 0 0 0 0 70 2\n"
      "  eth1:24 1 0 0 0 0 0 0 5 1\n");
  REQUIRE(network);
  CHECK(network->received == 1024);
  CHECK(network->sent == 75);
  CHECK_FALSE(parse_network_bytes("Inter-|   Receive\n"));
  CHECK_FALSE(parse_network_bytes("  eth0: 1000 3\n"));
  const StatusMemory memory = parse_status_memory(
      "VmSize:\t 900 kB\nVmLck:\t      64 kB\nVmPin:\t    2048 kB\nRssAnon:\t  40 kB\nRssFile:\t  70 kB\nRssShmem:\t "
      "16 kB\nVmSwap:\t 8 "
      "kB\n");
  CHECK(memory.locked_bytes == 65536);
  CHECK(memory.pinned_bytes == 2 << 20);
  CHECK(memory.anonymous_bytes == 64 << 10);
  CHECK(parse_status_memory("Name:\tkthreadd\n").pinned_bytes == 0);
  CHECK_FALSE(parse_status_memory("Name:\tkthreadd\n").anonymous_bytes);
}

TEST_CASE("numbers of ranks") {
  const auto numbers = [](std::string text) {
    std::replace(text.begin(), text.end(), ' ', '\0');
    return parse_rank_numbers(text);
  };
  CHECK(numbers("HOME=/x RANK=12 LOCAL_RANK=4 ") == RankNumbers{12, 4});
  CHECK(numbers("RANK=0 ") == RankNumbers{0, -1});
  CHECK(numbers("SLURM_PROCID=7 SLURM_LOCALID=3 ") == RankNumbers{7, 3});
  CHECK(numbers("SLURM_PROCID=7 SLURM_LOCALID=3 LOCAL_RANK=1 RANK=9 ") == RankNumbers{9, 1});  // torchrun below srun
  CHECK(numbers("OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_RANK=5 ") == RankNumbers{5, 1});
  CHECK(numbers("PMI_RANK=2 MPI_LOCALRANKID=2 ") == RankNumbers{2, 2});
  for (const char* const text : {"", " ", "RANK", "RANK=", "RANK=x ", "RANK=-1 ", "RANK=99999999999 ", "MYRANK=1 ",
                                 "RANK=1", "=1 ", "rank=1 ", "LOCAL_RANK=1 "})
    CHECK(numbers(text) == RankNumbers{});
}

}  // namespace
}  // namespace unstarve
