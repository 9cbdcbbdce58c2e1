#include "unstarve/device/nvml.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "unstarve/device/device.h"
#include "unstarve/device/nvml_sampler.h"

using namespace unstarve;

#ifdef UNSTARVE_NVML_STAND_IN  // not where folders are tested without the rest of the tree: tools/arm64.sh

namespace {

// What the library that replaces NVML reports; the environment is as before at the end.
class StandIn {
 public:
  explicit StandIn(const char* selection) { ::setenv("NVML_STAND_IN", selection, 1); }
  ~StandIn() { ::unsetenv("NVML_STAND_IN"); }
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;
  [[nodiscard]] GpuStates read() const { return read_gpu_states(UNSTARVE_NVML_STAND_IN); }
};

}  // namespace

TEST_CASE("the state of a GPU is read through NVML", "[nvml]") {
  const GpuStates states = StandIn("troubled").read();
  CHECK(states.problem == NvmlProblem::kNone);
  CHECK(states.message.empty());
  CHECK(states.driver == "580.65.06");
  REQUIRE(states.gpus.size() == 2);
  const GpuState& gpu = states.gpus[0];
  CHECK(gpu.name == "NVIDIA H100 80GB HBM3");
  CHECK(gpu.pci_address == "0000:4a:00.0");
  REQUIRE(gpu.persistence.has_value());
  CHECK_FALSE(*gpu.persistence);
  CHECK(gpu.link_generation == 3);
  CHECK(gpu.link_generation_most == 5);
  CHECK(gpu.link_lanes == 8);
  CHECK(gpu.link_lanes_most == 16);
  CHECK(gpu.performance_state == 0);
  CHECK(gpu.power_limit_w == 400);
  CHECK(gpu.power_limit_default_w == 700);
  CHECK(gpu.clock_mhz == 1200);
  CHECK(gpu.clock_most_mhz == 1980);
  CHECK(gpu.slowdowns ==
        std::vector<GpuSlowdown>{GpuSlowdown::kClockSetting, GpuSlowdown::kTooHot, GpuSlowdown::kHardwareTooHot});
  CHECK_FALSE(gpu.ecc.has_value());  // not supported
  CHECK(gpu.memory_errors == 2);
  CHECK(gpu.memory_bytes == std::uint64_t{80} << 30);
  CHECK(gpu.memory_used_bytes == std::uint64_t{30} << 30);
  REQUIRE(gpu.processes.size() == 2);
  CHECK(gpu.processes[0].process == 4711);
  CHECK(gpu.processes[0].memory_bytes == std::uint64_t{20} << 30);
  CHECK(gpu.processes[1].memory_bytes == 0);  // unknown
  // A lost GPU keeps its number.
  CHECK(states.gpus[1].name.empty());
  CHECK(states.gpus[1].link_generation == 0);
}

TEST_CASE("an idle GPU and one at its power limit are not slow", "[nvml]") {
  const GpuStates states = StandIn("good").read();
  REQUIRE(states.gpus.size() == 1);
  CHECK(states.gpus[0].slowdowns.empty());
  CHECK(states.gpus[0].persistence == true);
  CHECK(states.gpus[0].ecc == true);
  CHECK(states.gpus[0].processes.empty());
}

TEST_CASE("errors of NVML are reported with their kind and text", "[nvml]") {
  const GpuStates mismatch = StandIn("18").read();
  CHECK(mismatch.problem == NvmlProblem::kMismatch);
  CHECK(mismatch.message == "Driver/library version mismatch");
  CHECK(mismatch.gpus.empty());
  CHECK(StandIn("9").read().problem == NvmlProblem::kNoDriver);
  CHECK(StandIn("999").read().problem == NvmlProblem::kOther);
}

TEST_CASE("NVML is shut down after reading", "[nvml]") {
  void* const library = dlopen(UNSTARVE_NVML_STAND_IN, RTLD_NOW);
  REQUIRE(library != nullptr);
  const auto running = reinterpret_cast<int (*)()>(dlsym(library, "nvml_stand_in_running"));
  REQUIRE(running != nullptr);
  CHECK_FALSE(StandIn("good").read().gpus.empty());
  CHECK(running() == 0);
  CHECK(StandIn("18").read().gpus.empty());
  CHECK(running() == 0);
  dlclose(library);
}

TEST_CASE("what GPUs do is read repeatedly", "[nvml]") {
  const StandIn troubled("troubled");
  NvmlSampler sampler(UNSTARVE_NVML_STAND_IN);
  REQUIRE(sampler.states().gpus.size() == 2);
  for (int i = 0; i < 3; ++i) {
    const std::vector<GpuLook> looks = sampler.look();
    REQUIRE(looks.size() == 2);
    CHECK(looks[0].utilisation == 0.8);
    CHECK(looks[0].failure.empty());
    CHECK(looks[0].clock_mhz == 1200);
    CHECK(looks[0].power_w == 350);
    CHECK(looks[0].temperature_c == 71);
    CHECK(looks[0].link_lanes == 8);
    CHECK(looks[0].memory_used_bytes == std::uint64_t{30} << 30);
    CHECK(looks[0].slowdowns == std::vector<GpuSlowdown>{GpuSlowdown::kClockSetting, GpuSlowdown::kPowerLimit,
                                                         GpuSlowdown::kTooHot, GpuSlowdown::kHardwareTooHot});
    REQUIRE(looks[0].processes.size() == 2);
    CHECK(looks[0].processes[0].memory_bytes == std::uint64_t{20} << 30);
    CHECK(looks[0].processes[0].utilisation == -1);
    // A lost GPU keeps its number.
    CHECK(looks[1].utilisation == -1);
    CHECK_FALSE(looks[1].failure.empty());
  }
}

TEST_CASE("utilisation of processes, and a driver that stops to answer", "[nvml]") {
  const StandIn good("good");
  const std::filesystem::path script = std::filesystem::temp_directory_path() / "unstarve-nvml-script";
  ::setenv("NVML_STAND_IN_SCRIPT", script.c_str(), 1);
  std::ofstream(script) << "utilisation 0 90\nprocess 12 1000 30\nprocess 13 2000 5\n";
  NvmlSampler sampler(UNSTARVE_NVML_STAND_IN);
  std::vector<GpuLook> looks = sampler.look();
  REQUIRE(looks.at(0).processes.size() == 2);
  CHECK(looks[0].processes[0].process == 12);
  CHECK(looks[0].processes[0].utilisation == Approx(0.3));
  CHECK(looks[0].processes[1].utilisation == Approx(0.05));
  CHECK(looks[0].utilisation + sampler.look().at(0).utilisation == Approx(0.9));
  // The driver has no samples of processes that are idle.
  std::ofstream(script) << "utilisation 90\nprocess 12 1000 30\nprocess 13 2000\n";
  looks = sampler.look();
  CHECK(looks.at(0).processes.at(0).utilisation == Approx(0.3));
  CHECK(looks[0].processes.at(1).utilisation == 0);
  std::ofstream(script) << "utilisation 90\nprocess 12 1000\nprocess 13 2000\n";
  CHECK(sampler.look().at(0).processes.at(1).utilisation == -1);  // its period has not ended
  looks = NvmlSampler(UNSTARVE_NVML_STAND_IN).look();
  CHECK(looks.at(0).processes.at(0).utilisation == 0);
  CHECK(looks[0].processes.at(1).utilisation == 0);
  std::ofstream(script) << "failure 15\n";
  looks = sampler.look();
  CHECK(looks.at(0).utilisation == -1);
  CHECK_FALSE(looks[0].failure.empty());
  ::unsetenv("NVML_STAND_IN_SCRIPT");
  std::filesystem::remove(script);
}

TEST_CASE("$UNSTARVE_NVML names the library, and an argument precedes it", "[nvml]") {
  const StandIn good("good");
  ::setenv("UNSTARVE_NVML", UNSTARVE_NVML_STAND_IN, 1);
  CHECK(read_gpu_states().driver == "580.65.06");
  CHECK(read_gpu_states("/no/such/libnvidia-ml.so.1").problem == NvmlProblem::kNoLibrary);
  ::unsetenv("UNSTARVE_NVML");
}

#endif

TEST_CASE("a missing NVML is reported with the reason of the loader", "[nvml]") {
  const GpuStates states = read_gpu_states("/no/such/libnvidia-ml.so.1");
  CHECK(states.problem == NvmlProblem::kNoLibrary);
  CHECK_THAT(states.message, Catch::Contains("/no/such/libnvidia-ml.so.1"));
  CHECK(states.gpus.empty());
}

TEST_CASE("NVML and CUDA agree on the GPUs of this machine", "[nvml]") {
  const DeviceReport report = report_devices();
  if (report.gpus.empty()) {
    WARN("SKIPPED, NVML is not compared with CUDA: " << report.reason);
    return;
  }
  const GpuStates states = read_gpu_states();
  INFO(states.message);
  REQUIRE(states.problem == NvmlProblem::kNone);
  CHECK_FALSE(states.driver.empty());
  REQUIRE(states.gpus.size() >= report.gpus.size());  // CUDA_VISIBLE_DEVICES may hide some
  for (const DeviceReport::Gpu& gpu : report.gpus) {
    CAPTURE(gpu.name);
    const auto state = std::find_if(states.gpus.begin(), states.gpus.end(),
                                    [&](const GpuState& candidate) { return candidate.name == gpu.name; });
    REQUIRE(state != states.gpus.end());
    CHECK(state->memory_bytes >= gpu.memory_bytes);
    CHECK(state->memory_used_bytes <= state->memory_bytes);
    CHECK(state->pci_address.size() >= std::string("0000:00:00.0").size());
    CHECK(state->link_generation <= state->link_generation_most);
    CHECK(state->link_lanes <= state->link_lanes_most);
    CHECK(state->performance_state <= 15);
  }
}

TEST_CASE("a library without the functions of NVML is reported", "[nvml]") {
  const GpuStates states = read_gpu_states("libm.so.6");
  CHECK(states.problem == NvmlProblem::kOther);
  CHECK_THAT(states.message, Catch::Contains("libm.so.6 lacks functions"));
}
