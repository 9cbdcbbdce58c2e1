#include "unstarve/jobs/doctor/findings.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "unstarve/jobs/doctor/testing/good_facts.h"

namespace unstarve {
namespace {

using Topics = std::vector<std::string>;
using Catch::Contains;

// The findings of a machine without problems after `change`.
template <class Change>
DoctorFindings found_with(const Change& change) {
  DoctorFacts facts = testing::good_facts();
  change(facts);
  DoctorFindings findings = find_problems(facts);
  for (const DoctorFinding& finding : findings) {
    INFO(finding.topic);
    CHECK_FALSE(finding.command.empty());
  }
  return findings;
}

template <class Change>
Topics topics_with(const Change& change) {
  Topics all;
  for (const DoctorFinding& finding : found_with(change)) all.push_back(finding.topic);
  return all;
}

// The only finding.
template <class Change>
DoctorFinding one_with(const Change& change) {
  const DoctorFindings findings = found_with(change);
  REQUIRE(findings.size() == 1);
  return findings[0];
}

using Facts = DoctorFacts;

TEST_CASE("a good machine has no problems", "[doctor]") {
  CHECK(topics_with([](Facts&) {}).empty());
}

TEST_CASE("problems of the CPU", "[doctor]") {
  const auto sets = [](std::vector<std::string> all) {
    return topics_with([&](Facts& f) { f.machine.instruction_sets = all; });
  };
  CHECK(sets({"avx2"}) == Topics{"bfloat16"});
  CHECK(sets({"sse4_2"}) == Topics{"instructions", "bfloat16"});
  CHECK(sets({"neon", "neon_bf16"}).empty());
  CHECK(sets({}).empty());
  const auto governor = [](const char* name) { return topics_with([&](Facts& f) { f.machine.governor = name; }); };
  CHECK(governor("powersave") == Topics{"governor"});
  CHECK(governor("conservative") == Topics{"governor"});
  CHECK(governor("schedutil").empty());
  CHECK(governor("").empty());
  CHECK(governor("performance, powersave") == Topics{"governor"});
  CHECK(topics_with([](Facts& f) { f.machine.turbo_off = true; }) == Topics{"turbo"});
}

TEST_CASE("drivers that choose the frequency by a preference have the governor powersave by default", "[doctor]") {
  const auto preference = [](const char* name) {
    return topics_with([&](Facts& f) {
      f.machine.governor = "powersave";
      f.machine.energy_preference = name;
    });
  };
  CHECK(preference("balance_performance").empty());
  CHECK(preference("performance").empty());
  CHECK(preference("default").empty());
  CHECK(preference("none").empty());
  CHECK(preference("power") == Topics{"governor"});
  CHECK(preference("balance_performance, balance_power") == Topics{"governor"});
  const DoctorFinding finding = one_with([](Facts& f) { f.machine.energy_preference = "balance_power"; });
  CHECK(finding.found == "the CPUs prefer to save energy: balance_power");
  CHECK_THAT(finding.command, Contains("energy_performance_preference"));
}

TEST_CASE("a limit of processes and threads that leaves too few of them", "[doctor]") {
  const auto finding = [](const char* container) {
    return one_with([&](Facts& f) {
      f.machine.tasks = 600;
      f.machine.tasks_most = 1024;
      f.machine.container = container;
    });
  };
  CHECK(finding("").found == "the cgroup may have 1024 processes and threads, and has 600");
  CHECK(finding("").command == "systemd-run --user --scope -p TasksMax=32768 ...");
  CHECK(finding("podman").command == "podman run --pids-limit 32768 ...");
  CHECK_THAT(finding("kubernetes").command, Contains("podPidsLimit"));
  CHECK(topics_with([](Facts& f) {
          f.machine.tasks = 500;
          f.machine.tasks_most = 1024;  // 16 cores
        }).empty());
}

TEST_CASE("libraries that lack the instruction sets of the CPU", "[doctor]") {
  const auto torch = [](const char* cpu, std::vector<std::string> sets) {
    return topics_with([&](Facts& f) {
      f.build.libtorch_cpu = cpu;
      f.machine.instruction_sets = sets;
    });
  };
  CHECK(torch("AVX2", {"avx2", "avx512", "avx512_bf16"}) == Topics{"torch instructions"});
  CHECK(torch("DEFAULT", {"avx2", "amx_bf16"}) == Topics{"torch instructions"});
  CHECK(torch("AVX2", {"avx2", "amx_bf16"}).empty());
  CHECK(torch("DEFAULT", {"neon", "neon_bf16"}).empty());
  CHECK(torch("", {"avx2", "avx512", "avx512_bf16"}).empty());
  const DoctorFinding finding = one_with([](Facts& f) { f.build.libtorch_cpu = "DEFAULT"; });
  CHECK(finding.found == "the operators of libtorch use DEFAULT, but the CPU has AVX-512");
  CHECK(finding.command.starts_with("unset ATEN_CPU_CAPABILITY"));

  const DoctorFinding turbo = one_with([](Facts& f) { f.python.pillow_turbo = false; });
  CHECK(turbo.found == "Pillow 9.5.0 of /usr/bin/python3 decodes JPEG without libjpeg-turbo");
  CHECK(turbo.command == "/usr/bin/python3 -m pip install --force-reinstall --only-binary :all: pillow");
  const DoctorFinding simd = one_with([](Facts& f) { f.python.pillow_simd = false; });
  CHECK(simd.found == "Pillow 9.5.0 of /usr/bin/python3 resizes without AVX2");
  CHECK_THAT(simd.command, Contains("/usr/bin/python3 -m pip install") && Contains("pillow-simd"));
  CHECK(topics_with([](Facts& f) {
          f.python.pillow_simd = false;
          f.machine.instruction_sets = {"neon", "neon_bf16"};
        }).empty());
  CHECK(topics_with([](Facts& f) { f.python = {}; }).empty());

  const auto numpy = [](const char* instructions) {
    return [=](Facts& f) {
      f.python.libraries = {{"NumPy", "2.4.6", instructions, "numpy", "NPY_DISABLE_CPU_FEATURES"}};
    };
  };
  const DoctorFinding baseline = one_with(numpy("X86_V2"));
  CHECK(baseline.topic == "python libraries");
  CHECK(baseline.found == "NumPy 2.4.6 of /usr/bin/python3 uses X86_V2, but the CPU has AVX2");
  CHECK(baseline.command ==
        "unset NPY_DISABLE_CPU_FEATURES   (not set: /usr/bin/python3 -m pip install --force-reinstall --only-binary "
        ":all: numpy)");
  CHECK(topics_with(numpy("X86_V2 X86_V3")).empty());
  CHECK(topics_with(numpy("SSE SSE2 SSE3 AVX2")).empty());
  CHECK(topics_with(numpy("")).empty());  // unknown
  CHECK(topics_with([](Facts& f) { f.python = {"/usr/bin/python3", "3.11.2", "", false, false}; }).empty());
}

TEST_CASE("a CPU quota below the visible CPUs gives the right number of threads and workers", "[doctor]") {
  const DoctorFinding finding = one_with([](Facts& f) { f.machine.topology.quota = 6.5; });
  CHECK(finding.topic == "cores");
  CHECK(finding.found == "the cgroup quota is 6.5 cores, but 16 CPUs are visible");
  CHECK_THAT(finding.advice, Contains("num_workers=6"));
  CHECK(finding.command == "export OMP_NUM_THREADS=6");
  const DoctorFindings half = found_with([](Facts& f) { f.machine.topology.quota = 0.5; });
  CHECK_THAT(half.at(0).advice, Contains("unstarve starts 1 thread;"));
  CHECK(topics_with([](Facts& f) { f.machine.topology.quota = 16; }).empty());
  CHECK(topics_with([](Facts& f) { f.machine.topology.affinity = 4; }) == Topics{"cores"});
}

TEST_CASE("few cores for the number of GPUs", "[doctor]") {
  const auto cores = [](int count, std::size_t gpus) {
    return topics_with([&](Facts& f) {
      f.machine.topology.online = f.machine.topology.affinity = count;
      f.devices.gpus.resize(gpus);
    });
  };
  CHECK(cores(16, 4).empty());
  CHECK(cores(15, 4) == Topics{"workers"});
  CHECK(cores(2, 1) == Topics{"workers"});
  CHECK(cores(4, 1).empty());
  const DoctorFinding finding = one_with([](Facts& f) { f.devices.gpus.resize(8); });
  CHECK(finding.found == "16 usable cores for 8 GPUs");
  CHECK_THAT(finding.advice, Contains("num_workers=2"));
}

TEST_CASE("a process that is not bound to the NUMA node of the accelerator", "[doctor]") {
  const auto placed = [](std::vector<int> process, std::vector<int> accelerators, int nodes = 2) {
    return found_with([&](Facts& f) {
      f.machine.topology.numa_nodes = nodes;
      f.machine.nodes = process;
      for (const int node : accelerators) f.machine.accelerators.push_back({"0000:9b:00.0", "NVIDIA", "nvidia", node});
    });
  };
  CHECK(placed({0}, {1}, 1).empty());
  CHECK(placed({1}, {1}).empty());
  CHECK(placed({0}, {0, 1}).empty());
  CHECK(placed({0}, {}).empty());
  REQUIRE(placed({0}, {1}).size() == 1);
  CHECK(placed({0}, {1})[0].found == "accelerators are at NUMA node 1, this process runs on node 0");
  CHECK(placed({0}, {1})[0].command == "numactl --cpunodebind=1 --membind=1 unstarve ...");
  REQUIRE(placed({0, 1}, {0, 1}).size() == 1);
  CHECK_THAT(placed({0, 1}, {0, 1})[0].advice, Contains("one process for each accelerator"));
  // The nodes of the accelerators, or all nodes, are unknown.
  REQUIRE(placed({0, 1}, {-1}).size() == 1);
  CHECK(placed({0, 1}, {-1})[0].found == "memory is distributed over 2 NUMA nodes");
  CHECK(placed({}, {}).size() == 1);
}

TEST_CASE("problems of memory", "[doctor]") {
  const auto with = [](auto change) { return topics_with([&](Facts& f) { change(f.machine); }); };
  constexpr std::uint64_t kGib = std::uint64_t{1} << 30;
  CHECK(with([](auto& m) { m.memory_available_bytes = kGib; }) == Topics{"memory"});
  CHECK(with([](auto& m) { m.memory_limit_bytes = 60 * kGib; }) == Topics{"memory limit"});
  CHECK(with([](auto& m) { m.memory_limit_bytes = 100 * kGib; }).empty());
  CHECK(with([](auto& m) { m.killed_for_memory = 2; }) == Topics{"memory limit"});
  CHECK(with([](auto& m) { m.swap_used_bytes = kGib; }) == Topics{"swap"});
  CHECK(with([](auto& m) { m.swap_used_bytes = kGib - 1; }).empty());
  CHECK(with([](auto& m) { m.transparent_huge_pages = "never"; }) == Topics{"huge pages"});
  CHECK(with([](auto& m) { m.transparent_huge_pages = "always"; }).empty());
  CHECK(with([](auto& m) { m.shm_bytes = 64 << 20; }) == Topics{"shm"});
  CHECK(with([](auto& m) { m.shm_bytes = 0; }) == Topics{"shm"});
  CHECK(one_with([](Facts& f) { f.machine.killed_for_memory = 1; }).found ==
        "the kernel killed 1 process of this cgroup for lack of memory");
  const DoctorFinding limit = one_with([](Facts& f) {
    f.machine.memory_limit_bytes = 16 * kGib;
    f.machine.container = "docker";
  });
  CHECK(limit.found == "the cgroup has 17.2 GB of the 137 GB of memory");
  CHECK(limit.command.starts_with("docker update --memory"));
}

TEST_CASE("the fix for a small /dev/shm depends on the container", "[doctor]") {
  const auto fix = [](const char* container) {
    return one_with([&](Facts& f) {
             f.machine.shm_bytes = 64 << 20;
             f.machine.container = container;
           })
        .command;
  };
  CHECK(fix("") == "sudo mount -o remount,size=8G /dev/shm");
  CHECK(fix("docker") == "docker run --shm-size=8g ...");
  CHECK(fix("podman") == "podman run --shm-size=8g ...");
  CHECK_THAT(fix("kubernetes"), Contains("emptyDir: {medium: Memory"));
}

TEST_CASE("the fix for a low limit of open files depends on the hard limit", "[doctor]") {
  const auto fix = [](std::uint64_t most, const char* container = "") {
    return one_with([&](Facts& f) {
             f.machine.open_files = 1024;
             f.machine.open_files_most = most;
             f.machine.container = container;
           })
        .command;
  };
  CHECK(fix(1'048'576) == "ulimit -n 65536");
  CHECK(fix(20'000) == "ulimit -n 20000");
  CHECK_THAT(fix(1024), Contains("/etc/security/limits.conf"));
  CHECK(fix(1024, "docker") == "docker run --ulimit nofile=65536 ...");
  CHECK(topics_with([](Facts& f) { f.machine.open_files = 4096; }).empty());
  CHECK(topics_with([](Facts& f) { f.machine.open_files = 0; }).empty());
}

TEST_CASE("an unavailable io_uring is reported with the reason of the kernel and its fix", "[doctor]") {
  const auto finding = [](int reason) { return one_with([&](Facts& f) { f.uring_error = reason; }); };
  CHECK(finding(EPERM).topic == "io_uring");
  CHECK(finding(EPERM).found.ends_with("does not allow io_uring: Operation not permitted"));
  CHECK_THAT(finding(EPERM).command, Contains("io_uring_disabled=0") && Contains("seccomp"));
  CHECK_THAT(finding(ENOSYS).command, Contains("Linux 5.6"));
  CHECK_THAT(finding(ENOMEM).command, Contains("ulimit -l"));
  CHECK_THAT(finding(EMFILE).command, Contains("ulimit -n"));
  CHECK_THAT(finding(EIO).command, Contains("sysctl kernel.io_uring_disabled"));
}

TEST_CASE("missing parts of the build are reported", "[doctor]") {
  const DoctorFindings findings = found_with([](Facts& f) {
    f.devices.gpus.clear();
    f.devices.reason = "this build has no CUDA";
    f.gpus = {NvmlProblem::kNoLibrary, "libnvidia-ml.so.1: cannot open shared object file", "", {}};
    f.devices.driver.clear();
    f.build.libtorch.clear();
  });
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].topic == "gpu");
  CHECK(findings[0].found == "this build has no CUDA");
  CHECK_THAT(findings[0].command, Contains("emulated:"));
  CHECK(findings[1].topic == "libtorch");
}

TEST_CASE("modules that cannot be loaded are reported with the error of the loader", "[doctor]") {
  const DoctorFinding torch = one_with([](Facts& f) {
    f.build.libtorch.clear();
    f.build.libtorch_problem = "training needs x.so, which is missing";
  });
  CHECK(torch.topic == "libtorch");
  CHECK(torch.advice == "training needs x.so, which is missing");
  CHECK(torch.command == "pip install 'unstarve[torch]'");
  const DoctorFinding arrow = one_with([](Facts& f) {
    f.build.arrow.clear();
    f.build.arrow_problem = "read Parquet: package pyarrow not found";
  });
  CHECK(arrow.topic == "parquet");
  CHECK(arrow.advice == "read Parquet: package pyarrow not found");
  CHECK(arrow.command == "pip install 'unstarve[parquet]'");
}

TEST_CASE("a GPU that the build or libtorch cannot use", "[doctor]") {
  CHECK(topics_with([](Facts& f) { f.build.libtorch_cuda = false; }) == Topics{"gpu"});
  const DoctorFinding finding = one_with([](Facts& f) {
    f.devices.gpus.clear();
    f.devices.reason = "this build has no CUDA";
    f.devices.cuda_in_build = false;
  });
  CHECK(finding.found == "this build has no CUDA; the machine has 1 GPU");
  CHECK(finding.command == "make setup build");
}

TEST_CASE("problems of the GPU driver", "[doctor]") {
  const auto broken = [](NvmlProblem problem, std::vector<PciAccelerator> devices, const char* container = "") {
    return found_with([&](Facts& f) {
      f.gpus = {problem, "reason", "", {}};
      f.machine.accelerators = devices;
      f.machine.container = container;
      f.devices.driver.clear();
    });
  };
  const PciAccelerator nvidia{"0000:9b:00.0", "NVIDIA", "nvidia", -1}, bare{"0000:9b:00.0", "NVIDIA", "", -1};
  const PciAccelerator passed{"0000:9b:00.0", "NVIDIA", "vfio-pci", -1}, amd{"0000:19:00.0", "AMD", "", -1};
  CHECK(broken(NvmlProblem::kNoLibrary, {}).empty());
  CHECK(broken(NvmlProblem::kNoLibrary, {passed, amd}).empty());
  REQUIRE(broken(NvmlProblem::kNoLibrary, {nvidia}).size() == 1);
  CHECK(broken(NvmlProblem::kNoLibrary, {nvidia})[0].command == "sudo apt install libnvidia-ml1");
  CHECK(broken(NvmlProblem::kNoLibrary, {nvidia}, "docker")[0].command.starts_with("docker run --gpus all"));
  REQUIRE(broken(NvmlProblem::kNoLibrary, {bare}).size() == 1);
  CHECK(broken(NvmlProblem::kNoLibrary, {bare})[0].found == "no driver is loaded for 0000:9b:00.0");
  CHECK(broken(NvmlProblem::kNoDriver, {bare}).size() == 1);
  CHECK(broken(NvmlProblem::kNoDriver, {})[0].command == "sudo modprobe nvidia");
  CHECK(broken(NvmlProblem::kMismatch, {nvidia})[0].command == "sudo reboot");
  CHECK(broken(NvmlProblem::kOther, {nvidia})[0].found == "reason");
}

TEST_CASE("the state of a GPU", "[doctor]") {
  const auto gpu = [](auto change) { return found_with([&](Facts& f) { change(f.gpus.gpus[0]); }); };
  const auto one = [&](auto change) {
    const DoctorFindings findings = gpu(change);
    REQUIRE(findings.size() == 1);
    return findings[0];
  };
  const DoctorFinding persistence = one([](GpuState& g) { g.persistence = false; });
  CHECK(persistence.topic == "persistence mode");
  CHECK(persistence.found == "GPU 0: persistence mode is off");
  CHECK(persistence.command == "sudo nvidia-smi -i 0 -pm 1");
  CHECK(gpu([](GpuState& g) { g.persistence.reset(); }).empty());

  CHECK(one([](GpuState& g) { g.link_generation = 3; }).found == "GPU 0: the PCIe link uses generation 3 of 5");
  CHECK(one([](GpuState& g) { g.link_generation = 3, g.link_lanes = 8; }).found ==
        "GPU 0: the PCIe link uses generation 3 of 5 and 8 of 16 lanes");
  CHECK(gpu([](GpuState& g) { g.link_generation = 1, g.performance_state = 8; }).empty());  // it saves energy
  CHECK(one([](GpuState& g) { g.link_lanes = 4, g.performance_state = 8; }).topic == "pcie link");
  CHECK(gpu([](GpuState& g) { g.link_generation = g.link_lanes = 0; }).empty());

  const DoctorFinding power = one([](GpuState& g) { g.power_limit_w = 400; });
  CHECK(power.found == "GPU 0: the power limit is 400 W of 700 W");
  CHECK(power.command == "sudo nvidia-smi -i 0 -pl 700");
  CHECK(gpu([](GpuState& g) { g.power_limit_w = 750; }).empty());
  CHECK(gpu([](GpuState& g) { g.power_limit_w = 0; }).empty());

  const DoctorFinding hot = one([](GpuState& g) {
    g.slowdowns = {GpuSlowdown::kTooHot, GpuSlowdown::kTooHot};  // of the software and of the hardware
    g.clock_mhz = 1200;
  });
  CHECK(hot.found == "GPU 0: the clock is 1200 of 1980 MHz: too hot");
  CHECK_THAT(hot.advice, Contains("cooling"));
  CHECK(one([](GpuState& g) { g.slowdowns = {GpuSlowdown::kClockSetting}; }).command ==
        "sudo nvidia-smi -i 0 -rgc && sudo nvidia-smi -i 0 -rac");
  CHECK(gpu([](GpuState& g) { g.clock_mhz = 345; }).empty());  // idle

  CHECK(one([](GpuState& g) { g.memory_errors = 2; }).topic == "gpu errors");

  const std::uint64_t gib = std::uint64_t{1} << 30;
  CHECK(one([&](GpuState& g) {
          g.processes = {{4711, 20 * gib}, {4712, 0}};
          g.memory_used_bytes = 30 * gib;
        }).found == "GPU 0: 2 other processes use it: 4711, 4712 (32.2 GB of memory in use)");
  CHECK(one([&](GpuState& g) { g.memory_used_bytes = 30 * gib; }).found ==
        "GPU 0: 32.2 GB of memory are in use by processes that are not visible here");
  CHECK(gpu([&](GpuState& g) { g.memory_used_bytes = gib; }).empty());  // of the driver
}

TEST_CASE("GPUs with the same problem share a finding", "[doctor]") {
  const DoctorFindings findings = found_with([](Facts& f) {
    const GpuState good = f.gpus.gpus[0];
    f.gpus.gpus.assign(4, good);
    f.gpus.gpus[1].power_limit_w = f.gpus.gpus[2].power_limit_w = 500;
    f.gpus.gpus[3].power_limit_w = 300;
  });
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].found == "GPU 3: the power limit is 300 W of 700 W");
  CHECK(findings[1].found == "GPUs 1, 2: the power limit is 500 W of 700 W");
  CHECK(findings[1].command == "sudo nvidia-smi -i 1,2 -pl 700");
}

TEST_CASE("facts of the Python packages", "[doctor]") {
  CHECK(read_python_facts("/no/such/python").interpreter.empty());
  CHECK(read_python_facts("/bin/false").interpreter.empty());
  CHECK(read_python_facts("/bin/echo").interpreter.empty());  // prints the program, which is not JSON

  // An interpreter that prints fixed facts.
  std::string name = (std::filesystem::temp_directory_path() / "unstarve-python-XXXXXX").string();
  const int file = ::mkstemp(name.data());
  REQUIRE(file >= 0);
  constexpr std::string_view kScript =
      "#!/bin/sh\necho a warning\n"
      R"(echo '{"interpreter": "/py", "version": "3.12.1", "pillow": "9.5.0", "simd": true, "turbo": false, )"
      R"("libraries": [{"name": "OpenCV", "version": "4.12.0", "instructions": "SSE AVX2"}]}')"
      "\n";
  REQUIRE(::write(file, kScript.data(), kScript.size()) == static_cast<ssize_t>(kScript.size()));
  REQUIRE(::fchmod(file, 0700) == 0);
  ::close(file);
  const PythonFacts facts = read_python_facts(name);
  std::filesystem::remove(name);
  CHECK(facts.interpreter == "/py");
  CHECK(facts.version == "3.12.1");
  CHECK(facts.pillow == "9.5.0");
  CHECK(facts.pillow_simd);
  CHECK_FALSE(facts.pillow_turbo);
  REQUIRE(facts.libraries.size() == 1);
  CHECK(facts.libraries[0].name == "OpenCV");
  CHECK(facts.libraries[0].version == "4.12.0");
  CHECK(facts.libraries[0].instructions == "SSE AVX2");
}

}  // namespace
}  // namespace unstarve
