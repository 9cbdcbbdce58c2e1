#include "unstarve/diagnose/probes/gpu_probe.h"

#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "unstarve/diagnose/probes/gpu_recorder.h"

namespace unstarve {
namespace {

GpuStates two_gpus() {
  GpuStates states;
  states.gpus.resize(2);
  states.gpus[0].name = "NVIDIA H100";
  states.gpus[0].pci_address = "0000:4a:00.0";
  states.gpus[0].clock_most_mhz = 1980;
  states.gpus[0].link_lanes_most = 16;
  return states;
}

std::vector<GpuLook> looks_at(double utilisation, int clock_mhz = 1980, std::vector<GpuProcessLook> processes = {}) {
  GpuLook look;
  look.utilisation = utilisation;
  look.clock_mhz = clock_mhz;
  look.memory_used_bytes = 1000;
  look.processes = std::move(processes);
  return {look, GpuLook{}};
}

TEST_CASE("looks at a GPU become percentiles and shares") {
  GpuRecorder recorder(two_gpus(), "/no/such/root");
  for (int i = 0; i < 50; ++i) recorder.add(i, looks_at(0, 210));  // the program has not begun
  CHECK(recorder.use()[0].samples == 0);
  CHECK(recorder.take_utilisation() == -1);
  recorder.add(100, looks_at(1, 1500));
  for (int i = 1; i < 100; ++i) {
    std::vector<GpuLook> looks = looks_at(i < 40 ? 0 : 0.95, i < 40 ? 210 : 1500);
    if (i >= 70) looks[0].slowdowns = {GpuSlowdown::kTooHot};
    looks[0].power_w = 500;
    recorder.add(100 + i, looks);
  }
  const GpuUse use = recorder.use()[0];
  CHECK(use.name == "NVIDIA H100");
  CHECK(use.samples == 100);
  CHECK(use.utilisation_p10 == 0);
  CHECK(use.utilisation_p50 == Approx(0.95));
  CHECK(use.utilisation_p90 == Approx(0.95));
  CHECK(use.utilisation_mean == Approx(0.01 * 1 + 0.6 * 0.95));
  CHECK(use.idle_share == Approx(0.39));
  CHECK(use.utilisation_shares[0] == Approx(0.39));
  CHECK(use.utilisation_shares[9] == Approx(0.61));
  CHECK(use.busy_samples == 61);
  CHECK(use.clock_mhz == 1500);  // while it is busy
  CHECK(use.power_w == 500);
  CHECK(use.peak_memory_bytes == 1000);
  REQUIRE(use.slowdowns.size() == 1);
  CHECK(use.slowdowns[0].reason == "too hot");
  CHECK(use.slowdowns[0].share == Approx(30.0 / 61));
  CHECK(recorder.take_utilisation() == Approx((1 + 60 * 0.95) / 100));
  CHECK(recorder.take_utilisation() == -1);  // no look since then
  CHECK(recorder.use()[1].samples == 0);
}

TEST_CASE("samples of a GPU before the steps do not count") {
  GpuRecorder recorder(two_gpus(), "/no/such/root");
  for (int i = 0; i < 280; ++i)
    recorder.add(0.1 * i, looks_at(i % 100 == 5 ? 0.01 : 0, 210));  // imports, first kernels
  for (int i = 280; i < 420; ++i) recorder.add(0.1 * i, looks_at(1, 1980));
  CHECK(recorder.use()[0].idle_share > 0.6);
  const GpuUse use = recorder.use(27.95)[0];
  CHECK(use.samples == 140);
  CHECK(use.busy_samples == 140);
  CHECK(use.utilisation_p10 == 1);
  CHECK(use.utilisation_mean == Approx(1));
  CHECK(use.idle_share == 0);
  CHECK(recorder.use(100)[0].samples == 0);
}

TEST_CASE("of a long run, every second look at a GPU is left out") {
  GpuRecorder recorder(two_gpus(), "/no/such/root");
  for (int i = 0; i < 100'000; ++i) recorder.add(i, looks_at(i % 10 < 4 ? 0.9 : 0));
  const GpuUse use = recorder.use()[0];
  CHECK(use.samples == Approx(100'000).epsilon(0.01));
  CHECK(use.busy_samples == Approx(40'000).epsilon(0.01));
  CHECK(use.idle_share == Approx(0.6).epsilon(0.02));
  CHECK(use.utilisation_p90 == Approx(0.9));
  CHECK(recorder.use(50'000)[0].samples == Approx(50'000).epsilon(0.01));
}

TEST_CASE("processes on a GPU are those of the program or others") {
  GpuRecorder recorder(two_gpus(), "/no/such/root");
  for (int i = 0; i < 10; ++i)
    recorder.add(i, looks_at(0.5, 0, {{10, 100, 0.4}, {11, 200 + std::uint64_t(i), 0.25}, {12, 0, -1}}));
  for (int i = 10; i < 20; ++i) recorder.add(i, looks_at(0.5, 0));
  CHECK_FALSE(recorder.use()[0].used);
  recorder.set_program({10, 99});
  recorder.set_program({99});  // it has ended
  const GpuUse use = recorder.use()[0];
  CHECK(use.used);
  REQUIRE(use.others.size() == 2);
  CHECK(use.others[0].pid == 11);
  CHECK(use.others[0].memory_bytes == 209);
  CHECK(use.others[0].present == Approx(0.5));
  CHECK(use.others[0].utilisation == Approx(0.25));
  CHECK(use.others[1].utilisation == -1);
  // Memory for processes is limited.
  for (std::uint32_t i = 0; i < 1000; ++i) recorder.add(20 + i, looks_at(0.5, 0, {{1000 + i, i, -1}}));
  CHECK(recorder.use()[0].others.size() == kMostOthers);
}

TEST_CASE("the NUMA nodes of a GPU and of its processes") {
  const std::filesystem::path root =
      std::filesystem::temp_directory_path() / ("unstarve-gpu-root-" + std::to_string(getpid()));
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  };
  write("sys/bus/pci/devices/0000:4a:00.0/numa_node", "1\n");
  write("sys/devices/system/node/online", "0-1\n");
  write("sys/devices/system/node/node0/cpulist", "0-3\n");
  write("sys/devices/system/node/node1/cpulist", "4-7\n");
  write("proc/10/status", "Name:\tpython\nCpus_allowed_list:\t1-2\n");
  write("proc/11/comm", "other\n");
  GpuRecorder recorder(two_gpus(), root);
  recorder.add(0, looks_at(0.5, 0, {{10, 0, -1}, {11, 0, -1}}));
  recorder.set_program({10});
  const GpuUse use = recorder.use()[0];
  CHECK(use.numa_node == 1);
  CHECK(use.process_nodes == std::vector<int>{0});
  REQUIRE(use.others.size() == 1);
  CHECK(use.others[0].name == "other");
  std::filesystem::remove_all(root);
}

TEST_CASE("a machine without the driver has no GPUs and no problem") {
  GpuProbe probe({.cpu_share = 1, .library = "/no/such/libnvidia-ml.so.1", .root = "/"});
  probe.stop();
  CHECK(probe.use().empty());
  CHECK(probe.missing().empty());
  CHECK(probe.take_utilisation() == -1);
}

#ifdef UNSTARVE_NVML_STAND_IN  // not where folders are tested without the rest of the tree: tools/arm64.sh

TEST_CASE("GPUs are watched from another thread") {
  ::setenv("NVML_STAND_IN", "good", 1);
  GpuProbe probe({.cpu_share = 1, .library = UNSTARVE_NVML_STAND_IN, .root = "/"});
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while ((probe.use().empty() || probe.use()[0].samples < 3) && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  probe.stop();
  REQUIRE(probe.use().size() == 1);
  const std::int64_t samples = probe.use()[0].samples;
  CHECK(samples >= 3);
  CHECK(probe.use()[0].utilisation_p50 == Approx(0.8));
  CHECK(probe.cpu_s() > 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  CHECK(probe.use()[0].samples == samples);  // it has stopped
  ::unsetenv("NVML_STAND_IN");
}

TEST_CASE("a problem of the driver is named") {
  ::setenv("NVML_STAND_IN", "18", 1);
  GpuProbe probe({.cpu_share = 1, .library = UNSTARVE_NVML_STAND_IN, .root = "/"});
  probe.stop();
  CHECK(probe.missing() == "Driver/library version mismatch");
  ::setenv("NVML_STAND_IN", "9", 1);  // the driver is not loaded
  GpuProbe silent({.cpu_share = 1, .library = UNSTARVE_NVML_STAND_IN, .root = "/"});
  silent.stop();
  CHECK(silent.missing().empty());
  ::unsetenv("NVML_STAND_IN");
}

#endif

}  // namespace
}  // namespace unstarve
