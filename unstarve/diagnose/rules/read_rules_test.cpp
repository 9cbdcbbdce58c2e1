#include <catch2/catch.hpp>

#include "unstarve/diagnose/rules/summary.h"
#include "unstarve/diagnose/rules/testing/run_profiles.h"

namespace unstarve {
namespace {

using namespace testing;

TEST_CASE("storage") {
  RunProfile profile = run(2, {1, 1});
  profile.machine.io_pressure = 0.6;
  CHECK(found(profile) == Names{});  // the data came from memory
  profile.processes[1].storage_bytes = 1'000'000'000;
  profile.processes[1].read_bytes = 2'000'000'000;
  profile.processes[1].read_calls = 20'000;
  CHECK(found(profile) == Names{"storage-wait"});
  CHECK(findings_of(profile)[0].lost == Approx(0.6));
  CHECK(findings_of(profile)[0].gain.gain > 1);
  RunProfile alone = run(2, {});
  alone.machine.io_pressure = 0.6;
  alone.processes[0].storage_bytes = alone.processes[0].read_bytes = 1'000'000'000;
  CHECK(found(alone) == Names{"storage-wait"});
  CHECK(findings_of(alone)[0].gain.gain == 0);  // the CPU time of its calls is unknown
  alone.processes[0].main_system_s = 0.4;
  alone.processes[0].minor_faults = 1'000'000;  // page faults explain it
  CHECK(findings_of(alone)[0].gain.gain == Approx(1 / (1 - 0.64 * 15 / 16)));
  CHECK_FALSE(findings_of(alone)[0].gain.known());
  // Of workers, what the cores permit, at most.
  RunProfile busy = profile;
  busy.machine.affinity_cores = 1;
  busy.machine.busy_cores = 0.4;
  CHECK(findings_of(busy)[0].gain.gain == Approx(1 + 0.6 / 0.4));
  CHECK_THAT(findings_of(profile)[0].change,
             Catch::Contains("read ahead") && Catch::Contains("cache the data in memory"));
  // Long reads: requests in advance do not help.
  RunProfile other = profile;
  other.processes[1].read_calls = 1000;
  CHECK_THAT(findings_of(other)[0].change, !Catch::Contains("ahead") && Catch::Contains("faster storage"));
  CHECK_THAT(findings_of(other)[0].evidence,
             Catch::EndsWith("the rate of the storage limits, not the number of requests"));
  CHECK(findings_of(other)[0].gain.gain == Approx(2.5));
  // More data than memory.
  other.machine.memory_limit_bytes = 900'000'000;
  CHECK_THAT(findings_of(other)[0].change, !Catch::Contains("in memory"));
  CHECK_THAT(findings_of(other)[0].evidence, Catch::EndsWith("does not fit into the memory limit of 0.9 GB"));
  profile.processes[1].read_bytes = 20'000'000'000;
  CHECK(found(profile) == Names{});
}

TEST_CASE("short waits that the samples missed are added by the CPU time") {
  RunProfile profile = run(3, {});
  ThreadUse& thread = profile.processes[0].main_thread;
  thread.cpu_s = 3;
  thread.run_delay_s = 1;
  thread.waits.file_s = 4;  // of 6 s
  CHECK(read_use(profile).files == Approx(0.6));
  thread.waits.sleep_s = 2;  // none is missing
  CHECK(read_use(profile).files == Approx(0.4));
  thread.waits = {.file_s = 1};  // twice as much at most: few samples show little
  CHECK(read_use(profile).files == Approx(0.2));
  thread.cpu_s = 0;  // unknown
  CHECK(read_use(profile).files == Approx(0.1));
}

TEST_CASE("a program that only writes does not read slowly") {
  RunProfile profile = run(6, {});
  profile.processes[0].main_thread.waits.flush_s = 3;
  CHECK(read_use(profile).files == 0);
  REQUIRE(found(profile) == Names{"logging-stall"});
  CHECK(findings_of(profile)[0].title == "the main thread waits for writes to files");
}

TEST_CASE("slow reads of workers") {
  RunProfile profile = run(3, {1, 1});
  for (ProcessUse& use : profile.processes)
    if (use.role == ProcessRole::kLoader) use.main_thread.waits.network_s = 8;
  CHECK(found(profile) == Names{"slow-reads"});
  record(profile, {{kMainThread, "__next__", kLoaderFile, 0.3, 0}}, 2);  // they read ahead
  CHECK(found(profile) == Names{});
  record(profile, {{kMainThread, "__next__", kLoaderFile, 5, 0}}, 2);
  CHECK(findings_of(profile)[0].gain.gain == Approx(2));
}

TEST_CASE("slow reads of the main thread: other threads could do all that loads a sample") {
  RunProfile profile = run(2, {});
  profile.processes[0].main_thread.waits.network_s = 8;
  record(profile, {{kMainThread, "f", "torch/nn.py", 0.5, 0}});
  RunFinding finding = findings_of(profile)[0];
  CHECK(finding.rule == "slow-reads");
  CHECK(finding.gain.gain == Approx(1 / (0.8 / 16 + 0.2)));  // only the waits are known
  CHECK(finding.gain.high > 5);
  record(profile, {{kMainThread, "readinto", "/usr/lib/python3.11/socket.py", 8, 0},
                   {kMainThread, "load", "PIL/ImageFile.py", 1.2, 0},
                   {kMainThread, "f", "torch/nn.py", 0.8, 0}});
  finding = findings_of(profile)[0];
  CHECK(finding.gain.gain == Approx(1 / (0.8 / 16 + 0.12 / (0.85 * 8) + 0.08)));
  CHECK(finding.gain.low < 1 / (0.8 / 16 + 0.12 + 0.08));
  CHECK(finding.gain.high > 1 / 0.08);
  profile.machine.affinity_cores = 2;
  profile.machine.busy_cores = 1.9;  // no core is left for the other threads
  CHECK(findings_of(profile).back().gain.gain == Approx(1 / (0.8 / 16 + 0.12 + 0.08)));
}

TEST_CASE("many small files") {
  RunProfile profile = run(3, {1, 1});
  for (ProcessUse& use : profile.processes) {
    if (use.role != ProcessRole::kLoader) continue;
    use.main_thread.waits.file_s = 8;
    use.file_samples = {100, 80, 95, 95 * 12'000};
    use.storage_bytes = 30'000'000;
  }
  record(profile, {{kMainThread, "__next__", kLoaderFile, 5, 0}}, 2);
  CHECK(found(profile) == Names{"small-files", "slow-reads"});
  const RunFinding finding = findings_of(profile)[0];
  CHECK(finding.rule == "small-files");
  CHECK(finding.gain.gain == Approx(2));  // a bound: the main thread waits for half of the time
  CHECK_FALSE(finding.gain.known());
  CHECK(finding.evidence.find("80 % of 200 samples") != std::string::npos);
  CHECK(finding.evidence.find("is 12 kB; storage delivers 6.0 MB/s") != std::string::npos);
  CHECK(finding.changes.tensorflow.find("TFRecordDataset") != std::string::npos);
  const auto without = [&](const FileSamples& looks) {
    RunProfile other = profile;
    for (ProcessUse& use : other.processes) use.file_samples = looks;
    return found(other);
  };
  CHECK(without({100, 80, 60, 720'000}) == Names{"slow-reads"});    // large files among them
  CHECK(without({100, 30, 95, 1'140'000}) == Names{"slow-reads"});  // one after the other, in pieces
  CHECK(without({4, 4, 4, 48'000}) == Names{"slow-reads"});         // few looks
  for (ProcessUse& use : profile.processes) use.main_thread.waits.network_s = use.main_thread.waits.file_s + 1;
  CHECK(found(profile) == Names{"slow-reads"});  // most of the time, of a server
  for (ProcessUse& use : profile.processes) use.main_thread.waits = {};
  CHECK_FALSE(found(profile).contains("small-files"));  // they are in the page cache
  // The main thread reads them itself.
  profile = run(5, {});
  profile.processes[0].main_thread.waits.file_s = 4;
  profile.processes[0].file_samples = {50, 50, 50, 600'000};
  CHECK(found(profile) == Names{"small-files", "slow-reads"});
  CHECK(findings_of(profile)[0].lost == Approx(0.4));
  CHECK(findings_of(profile)[0].gain.gain == 0);  // fewer calls save CPU time, too
  profile.machine.busy_cores = 8;                 // it needs no further core
  CHECK(findings_of(profile)[0].rule == "small-files");
}

TEST_CASE("longer reads of the main thread save waits and the CPU time of its calls") {
  RunProfile profile = run(5, {});
  ProcessUse& main = profile.processes[0];
  main.main_thread.waits.file_s = 4;
  main.file_samples = {50, 50, 50, 600'000};
  main.main_system_s = 3.2;
  main.minor_faults = 200'000;  // 0.2 s
  CHECK(calls_share(profile) == Approx(0.3));
  RunFinding finding = findings_of(profile)[0];
  CHECK(finding.rule == "small-files");
  CHECK(finding.lost == Approx(0.7));
  CHECK(finding.gain.gain == Approx(1 / (1 - 0.3 * 15 / 16 - 0.4 * 3 / 4)));
  CHECK(finding.gain.low == Approx(gain_without(0.3 * 15 / 16, 10).low));  // of the calls alone
  CHECK(finding.gain.high > 1 / 0.3);
  // Other threads could do the calls.
  finding = findings_of(profile)[1];
  CHECK(finding.rule == "slow-reads");
  CHECK(finding.gain.gain == Approx(1 / (0.4 / 16 + 0.3 / (0.85 * 8) + 0.3)));
  CHECK(finding.gain.low < 1 / (0.4 / 16 + 0.3 + 0.3));
  record(profile, {{kMainThread, "f", "torch/nn.py", 5, 0}});  // stacks show what the main thread does
  CHECK(findings_of(profile)[1].gain.gain == Approx(1 / (0.4 / 16 + 0.6)));
  // The same for all that waits for a device.
  RunProfile storage = run(2, {});
  storage.machine.io_pressure = 0.6;
  storage.processes[0].storage_bytes = storage.processes[0].read_bytes = 1'000'000'000;
  storage.processes[0].main_system_s = 1;
  CHECK(found(storage) == Names{"storage-wait"});
  CHECK(findings_of(storage)[0].gain.gain == Approx(1 / (1 - 0.1 * 15 / 16 - 0.6 * 3 / 4)));
}

TEST_CASE("large images") {
  RunProfile profile = run(2, {9.8, 9.8});
  profile.machine.affinity_cores = 2;  // no core is free
  record(profile, {{kMainThread, "__next__", kLoaderFile, 8, 0}, {kLoaderThread, "load", "PIL/ImageFile.py", 15, 0}},
         2);
  CHECK(found(profile) == Names{"expensive-samples"});  // small images
  for (ProcessUse& use : profile.processes) use.minor_faults = 600'000;
  CHECK(found(profile) == Names{"expensive-samples"});  // 250 MB per second of CPU time
  for (ProcessUse& use : profile.processes) use.minor_faults = 1'200'000;
  CHECK(found(profile) == Names{"large-images"});
  const double rest = 1 - 0.7 * 0.75;
  CHECK(findings_of(profile)[0].gain.gain == Approx(1 / (1 - 0.8 * (1 - rest))));
  profile.processes[0].cpu_s = 6;  // which the main process still needs on the same cores
  CHECK(findings_of(profile)[0].gain.gain == Approx(20 / (6 + rest * 19.6)));
  record(profile, {{kMainThread, "__next__", kLoaderFile, 8, 0}, {kLoaderThread, "load", "PIL/ImageFile.py", 5, 0}}, 2);
  CHECK(found(profile) == Names{"expensive-samples"});
}

}  // namespace
}  // namespace unstarve
