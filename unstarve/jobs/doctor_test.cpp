#include "unstarve/jobs/doctor.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <nlohmann/json.hpp>

using namespace unstarve;

namespace {

// A machine and a build that have no problems.
MachineFacts good_machine() {
  MachineFacts machine;
  machine.cpu_model = "AMD EPYC 9575F";
  machine.topology.online = machine.topology.affinity = 16;
  machine.instruction_sets = {"avx2", "avx512", "avx512_bf16"};
  machine.memory_bytes = machine.memory_available_bytes = std::uint64_t{128} << 30;
  machine.shm_bytes = std::uint64_t{64} << 30;
  machine.transparent_huge_pages = "madvise";
  machine.governor = "performance";
  return machine;
}

BuildFacts good_build() { return {"0.1.0", "gcc 12.2.0", "2.13.0+cu130", true, "26.0.1", "", ""}; }

DeviceReport good_devices() {
  DeviceReport devices;
  devices.cuda_in_build = true;
  devices.cuda_runtime = "13.0";
  devices.driver = "13.0";
  devices.gpus = {{"NVIDIA H200", std::size_t{139} << 30, 9, 0}};
  return devices;
}

std::vector<std::string> topics(const BuildFacts& build, const MachineFacts& machine, const DeviceReport& devices) {
  std::vector<std::string> all;
  for (const DoctorFinding& finding : find_problems(build, machine, devices, 0)) all.push_back(finding.topic);
  return all;
}

using Topics = std::vector<std::string>;

}  // namespace

TEST_CASE("a good machine has no problems", "[doctor]") {
  CHECK(topics(good_build(), good_machine(), good_devices()).empty());
  const DoctorResult result{good_build(), good_machine(), good_devices(), {}};
  CHECK(to_text(result).find("no problems found") != std::string::npos);
}

TEST_CASE("each problem of the machine is reported with its fix", "[doctor]") {
  const auto with = [](auto change) {
    MachineFacts machine = good_machine();
    change(machine);
    return topics(good_build(), machine, good_devices());
  };
  CHECK(with([](auto& m) { m.topology.quota = 2.5; }) == Topics{"cores"});
  CHECK(with([](auto& m) { m.topology.quota = 16; }).empty());
  CHECK(with([](auto& m) { m.topology.affinity = 4; }) == Topics{"cores"});
  CHECK(with([](auto& m) { m.topology.numa_nodes = 2; }) == Topics{"numa"});
  CHECK(with([](auto& m) { m.instruction_sets = {"avx2"}; }) == Topics{"bfloat16"});
  CHECK(with([](auto& m) { m.instruction_sets = {"sse4_2"}; }) == Topics{"instructions", "bfloat16"});
  CHECK(with([](auto& m) { m.instruction_sets = {"neon", "neon_bf16"}; }).empty());
  CHECK(with([](auto& m) { m.instruction_sets.clear(); }).empty());
  CHECK(with([](auto& m) { m.memory_available_bytes = 1 << 30; }) == Topics{"memory"});
  CHECK(with([](auto& m) { m.shm_bytes = 64 << 20; }) == Topics{"shm"});
  CHECK(with([](auto& m) { m.shm_bytes = 0; }) == Topics{"shm"});
  CHECK(with([](auto& m) { m.transparent_huge_pages = "never"; }) == Topics{"huge pages"});
  CHECK(with([](auto& m) { m.governor = "powersave"; }) == Topics{"governor"});
  CHECK(with([](auto& m) { m.governor.clear(); }).empty());
}

TEST_CASE("an unavailable io_uring is reported with the reason of the kernel", "[doctor]") {
  const auto findings = find_problems(good_build(), good_machine(), good_devices(), EPERM);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].topic == "io_uring");
  CHECK(findings[0].found.ends_with("does not allow io_uring: Operation not permitted"));
}

TEST_CASE("the fix for an unavailable io_uring depends on the reason", "[doctor]") {
  const auto remedy = [](int reason) {
    return find_problems(good_build(), good_machine(), good_devices(), reason).at(0).command;
  };
  CHECK_THAT(remedy(EPERM), Catch::Contains("io_uring_disabled=0") && Catch::Contains("seccomp"));
  CHECK_THAT(remedy(ENOSYS), Catch::Contains("Linux 5.6"));
  CHECK_THAT(remedy(ENOMEM), Catch::Contains("ulimit -l"));
  CHECK_THAT(remedy(EMFILE), Catch::Contains("ulimit -n"));
  CHECK(remedy(EIO).empty());  // unknown errors have no suggested fix
}

TEST_CASE("a CPU quota below the visible CPUs gives the right number of threads", "[doctor]") {
  MachineFacts machine = good_machine();
  machine.topology.quota = 2.5;
  const auto findings = find_problems(good_build(), machine, good_devices(), 0);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].found == "the cgroup quota is 2.5 cores, but 16 CPUs are visible");
  CHECK(findings[0].command == "export OMP_NUM_THREADS=2");
}

TEST_CASE("missing parts of the build are reported", "[doctor]") {
  BuildFacts build = good_build();
  DeviceReport devices = good_devices();
  devices.gpus.clear();
  devices.reason = "this build has no CUDA";
  build.libtorch.clear();
  const auto findings = find_problems(build, good_machine(), devices, 0);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].topic == "gpu");
  CHECK(findings[0].found == "this build has no CUDA");
  CHECK(findings[0].command.find("emulated:") != std::string::npos);
  CHECK(findings[1].topic == "libtorch");
}

TEST_CASE("a libtorch that cannot be loaded is reported with the error of the loader", "[doctor]") {
  BuildFacts build = good_build();
  build.libtorch.clear();
  build.libtorch_problem = "training needs x.so, which is missing";
  const auto findings = find_problems(build, good_machine(), good_devices(), 0);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].topic == "libtorch");
  CHECK(findings[0].advice == build.libtorch_problem);
}

TEST_CASE("an Arrow that cannot be loaded is reported with the error of the loader", "[doctor]") {
  BuildFacts build = good_build();
  build.arrow.clear();
  build.arrow_problem = "read Parquet: package pyarrow not found";
  const auto findings = find_problems(build, good_machine(), good_devices(), 0);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].topic == "parquet");
  CHECK(findings[0].advice == build.arrow_problem);
}

TEST_CASE("a GPU that libtorch cannot use is found", "[doctor]") {
  BuildFacts build = good_build();
  build.libtorch = "2.13.0+cpu";
  build.libtorch_cuda = false;
  CHECK(topics(build, good_machine(), good_devices()) == Topics{"gpu"});
}

TEST_CASE("JSON contains build, machine, devices and findings", "[doctor]") {
  MachineFacts machine = good_machine();
  machine.topology.quota = 2.5;
  machine.instruction_sets = {"avx2"};
  DoctorResult result{good_build(), machine, good_devices(), find_problems(good_build(), machine, good_devices(), 0)};
  const auto json = nlohmann::json::parse(to_json(result));
  CHECK(json["build"]["libtorch"] == "2.13.0+cu130");
  CHECK(json["build"]["cuda_runtime"] == "13.0");
  CHECK(json["build"]["arrow"] == "26.0.1");
  result.build.arrow.clear();
  CHECK(nlohmann::json::parse(to_json(result))["build"]["arrow"].is_null());
  const std::string text = to_text(result);
  const std::size_t at = text.find("Arrow, for Parquet");
  REQUIRE(at != std::string::npos);
  CHECK(text.substr(at, text.find('\n', at) - at).ends_with("none"));
  CHECK(json["machine"]["cores"]["usable"] == 2);
  CHECK(json["machine"]["cores"]["quota"] == 2.5);
  CHECK(json["devices"]["gpus"][0]["capability"] == "9.0");
  CHECK(json["devices"]["reason"].is_null());
  REQUIRE(json["findings"].size() == 2);
  CHECK(json["findings"][1]["topic"] == "bfloat16");
  CHECK(json["findings"][1]["command"].is_null());
}

TEST_CASE("text is safe for a terminal and lists facts, findings and commands", "[doctor]") {
  MachineFacts machine = good_machine();
  machine.cpu_model = "evil\x1b[2J";
  machine.transparent_huge_pages = "never";
  const DoctorResult result{good_build(), machine, good_devices(),
                            find_problems(good_build(), machine, good_devices(), 0)};
  const std::string text = to_text(result);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("NVIDIA H200, 139 GB, compute capability 9.0") != std::string::npos);
  CHECK(text.find("    $ echo madvise | sudo tee") != std::string::npos);
}

TEST_CASE("this machine can be inspected", "[doctor]") {
  const DoctorResult result = run_doctor({"0.1.0", "", "", false, "", "", ""});
  CHECK(result.machine.memory_bytes > 0);
  CHECK_FALSE(result.build.compiler.empty());
  CHECK(result.devices.gpus.empty() != result.devices.reason.empty());
  const bool libtorch_missed = std::any_of(result.findings.begin(), result.findings.end(),
                                           [](const DoctorFinding& f) { return f.topic == "libtorch"; });
  CHECK(libtorch_missed);
}
