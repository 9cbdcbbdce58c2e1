#include <catch2/catch.hpp>

#include "unstarve/diagnose/rules/testing/run_profiles.h"

namespace unstarve {
namespace {

using namespace testing;

// A GPU of the program that works all the time, at full speed.
GpuUse busy_gpu() {
  GpuUse gpu;
  gpu.name = "NVIDIA H100";
  gpu.used = true;
  gpu.samples = gpu.busy_samples = 100;
  gpu.utilisation_p10 = gpu.utilisation_p50 = gpu.utilisation_p90 = gpu.utilisation_mean = 0.95;
  gpu.power_limit_w = gpu.power_limit_default_w = 700;
  gpu.clock_mhz = gpu.clock_most_mhz = 1980;
  gpu.link_generation = gpu.link_generation_most = 5;
  gpu.link_lanes = gpu.link_lanes_most = 16;
  return gpu;
}
GpuUse idle_gpu() {
  GpuUse gpu = busy_gpu();
  gpu.utilisation_p50 = gpu.utilisation_mean = 0.2;
  gpu.utilisation_p10 = 0;
  gpu.idle_share = 0.6;
  return gpu;
}

TEST_CASE("a GPU that is slowed down") {
  RunProfile profile = run(9, {});
  profile.gpus = {busy_gpu()};
  CHECK(found(profile) == Names{});
  GpuUse& gpu = profile.gpus[0];
  gpu.clock_mhz = 1386;  // 70 %
  gpu.slowdowns = {{"too hot", 0.5}};
  CHECK(found(profile) == Names{"gpu-throttled"});
  CHECK(findings_of(profile)[0].lost == Approx(0.95 * 0.3));
  CHECK(findings_of(profile)[0].evidence.find("too hot for 50 %") != std::string::npos);
  gpu.slowdowns[0].share = 0.05;
  gpu.clock_mhz = 1900;
  CHECK(found(profile) == Names{});
  gpu.slowdowns = {{"a clock setting", 1}};  // that hardly matters
  CHECK(found(profile) == Names{});
  gpu.clock_mhz = 1200;
  CHECK(findings_of(profile)[0].change.find("-rgc") != std::string::npos);
  // At the limit of its card it is as fast as it can be.
  gpu.slowdowns = {{"at the power limit", 0.9}};
  CHECK(found(profile) == Names{});
  gpu.power_limit_w = 400;
  CHECK(found(profile) == Names{"gpu-throttled"});
  CHECK(findings_of(profile)[0].change.find("-pl 700") != std::string::npos);
  gpu.slowdowns = {};  // without a reason
  CHECK(found(profile) == Names{"gpu-throttled"});
  gpu.busy_samples = 3;  // an idle GPU has a low clock
  CHECK(found(profile) == Names{});
}

TEST_CASE("a slow link to the GPU") {
  RunProfile profile = run(9, {});
  profile.gpus = {busy_gpu()};
  GpuUse& gpu = profile.gpus[0];
  gpu.link_lanes = 8;
  CHECK(found(profile) == Names{"slow-link"});
  CHECK(findings_of(profile)[0].evidence.find("8 of 16 lanes") != std::string::npos);
  CHECK(findings_of(profile)[0].lost == 0);  // no kernels were recorded
  CHECK(findings_of(profile)[0].evidence.find("the copies take is unknown") != std::string::npos);
  TraceUse& trace = profile.trace.emplace();
  trace.format = "CUPTI";
  trace.analysed_s = 10;
  trace.parts[static_cast<std::size_t>(StepActivity::kCopy)] = 5;
  trace.copies.resize(2);
  trace.copies[0].direction = CopyDirection::kToDevice;
  trace.copies[0].host_memory = MemoryKind::kPinned;
  trace.copies[0].seconds = 3;
  trace.copies[0].overlapped_s = 2.8;
  trace.copies[1].direction = CopyDirection::kOnDevice;
  trace.copies[1].seconds = 5;
  CHECK(findings_of(profile)[0].lost == Approx(0.02 * 0.5));
  CHECK(findings_of(profile)[0].gain.gain == Approx(1 / 0.99));
  gpu.link_generation = 3;  // a quarter of the rate for each lane
  CHECK(findings_of(profile)[0].lost == Approx(0.02 * (1 - 0.125)));
  profile.trace.reset();
  gpu.busy_samples = 0;  // an idle link
  CHECK(found(profile) == Names{});
  gpu = busy_gpu();
  gpu.link_generation = 4;
  CHECK(found(profile) == Names{"slow-link"});
  gpu = busy_gpu();
  gpu.numa_node = 1;
  gpu.process_nodes = {0, 1};  // it is not bound
  CHECK(found(profile) == Names{});
  gpu.process_nodes = {0};
  CHECK(found(profile) == Names{"slow-link"});
  CHECK(findings_of(profile)[0].change.find("--cpunodebind=1") != std::string::npos);
  gpu.numa_node = -1;
  CHECK(found(profile) == Names{});
}

TEST_CASE("another program on the GPU") {
  RunProfile profile = run(9, {});
  profile.gpus = {busy_gpu()};
  GpuUse& gpu = profile.gpus[0];
  gpu.others = {{4711, "python", 10'000'000'000, 1, 0.4}};
  CHECK(found(profile) == Names{"gpu-shared"});
  CHECK(findings_of(profile)[0].lost == Approx(0.4));
  CHECK(findings_of(profile)[0].gain.gain == Approx(1 / 0.6));
  gpu.others[0].utilisation = 0;  // it has memory only
  CHECK(found(profile) == Names{});
  gpu.others[0].utilisation = -1;
  CHECK(found(profile) == Names{"gpu-shared"});
  CHECK(findings_of(profile)[0].gain.gain == 0);
  gpu.others[0].present = 0.01;
  CHECK(found(profile) == Names{});
  gpu.others[0] = {4711, "python", 10'000'000'000, 1, 0.4};
  gpu.used = false;  // its own number may be 4711
  CHECK(found(profile) == Names{});
}

TEST_CASE("an idle GPU is a finding if nothing else explains it") {
  RunProfile profile = run(9, {});
  profile.gpus = {idle_gpu()};
  CHECK(found(profile) == Names{"gpu-idle"});
  CHECK(findings_of(profile)[0].lost == Approx(0.8));
  CHECK(findings_of(profile)[0].gain.gain == Approx(5));  // at most
  CHECK(findings_of(profile)[0].evidence.find("median utilisation 20 %") != std::string::npos);
  profile.machine.throttled_share = 0.1;  // explains less than half of it
  CHECK(found(profile) == Names{"gpu-idle", "cpu-quota"});
  profile.machine.throttled_share = 0.5;
  CHECK(found(profile) == Names{"cpu-quota"});
  profile.machine.throttled_share = 0;
  profile.gpus.push_back(busy_gpu());  // together the median is 57 %
  CHECK(found(profile) == Names{});
  profile.gpus[1].used = false;  // of another program
  CHECK(found(profile) == Names{"gpu-idle"});
  profile.gpus = {idle_gpu()};
  profile.gpus[0].used = false;  // the driver's numbers are not those of this container
  CHECK(found(profile) == Names{"gpu-idle"});
  profile.gpus[0].samples = 0;
  CHECK(found(profile) == Names{});
}

TEST_CASE("findings that do not explain an idle GPU do not hide it") {
  RunProfile profile = run(9, {});
  profile.gpus = {idle_gpu()};
  for (int i = 0; i < 20; ++i) profile.timeline.resident_bytes.push_back(3e8 + 2e7 * i);
  CHECK(found(profile) == Names{"gpu-idle", "growing-memory"});
  CHECK(findings_of(profile)[0].rule == "growing-memory");  // ends the run
  profile.timeline = {};
  // The start is no part of the samples of the GPU.
  RankUse rank;
  rank.pid = profile.processes[0].pid;
  rank.begin_unix_s = 1e9;
  rank.steps.count = 50;
  for (int i = 0; i < 50; ++i) rank.steps.ends_s.push_back(1e9 + 6 + 0.08 * i);
  profile.ranks = {rank};
  CHECK(found(profile) == Names{"gpu-idle", "slow-start"});
  profile.machine.throttled_share = 0.5;  // this explains it
  CHECK(found(profile) == Names{"cpu-quota", "slow-start"});
}

TEST_CASE("a GPU that recorded kernels keep busy is not idle") {
  RunProfile profile = run(9, {});
  profile.gpus = {idle_gpu()};
  TraceUse& trace = profile.trace.emplace();
  trace.format = "CUPTI";
  trace.analysed_s = 10;
  trace.devices.resize(1);
  trace.devices[0].busy_s = 4;
  CHECK(found(profile) == Names{"gpu-idle"});
  trace.devices[0].busy_s = 6;
  CHECK(found(profile) == Names{});
  trace.analysed_s = trace.devices[0].busy_s = 0;  // nothing was analysed
  CHECK(found(profile) == Names{"gpu-idle"});
}

}  // namespace
}  // namespace unstarve
