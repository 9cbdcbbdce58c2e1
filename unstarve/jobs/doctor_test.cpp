#include "unstarve/jobs/doctor.h"
#include "unstarve/core/json.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "unstarve/jobs/doctor/testing/good_facts.h"

using namespace unstarve;

namespace {

DoctorResult examined(const DoctorFacts& facts) { return {facts, find_problems(facts)}; }

std::string line_of(const std::string& text, const std::string& begin) {
  const std::size_t at = text.find(begin);
  REQUIRE(at != std::string::npos);
  return text.substr(at, text.find('\n', at) - at);
}

}  // namespace

TEST_CASE("a good machine is reported without problems", "[doctor]") {
  CHECK_THAT(to_text(examined(testing::good_facts())), Catch::Contains("no problems found"));
}

TEST_CASE("JSON contains build, machine, devices, GPU states, Python and findings", "[doctor]") {
  DoctorFacts facts = testing::good_facts();
  facts.machine.topology.quota = 6.5;
  facts.machine.instruction_sets = {"avx2"};
  facts.build.libtorch_cpu = "AVX2";
  facts.gpus.gpus[0].slowdowns = {GpuSlowdown::kTooHot};
  facts.gpus.gpus[0].processes = {{4711, 0}};
  facts.gpus.gpus[0].persistence.reset();
  const DoctorResult result = examined(facts);
  const auto json = parse_json(to_json(result));
  CHECK(json["build"]["libtorch"] == "2.13.0+cu130");
  CHECK(json["build"]["libtorch_cpu"] == "AVX2");
  CHECK(json["build"]["cuda_runtime"] == "13.0");
  CHECK(json["build"]["arrow"] == "26.0.1");
  CHECK(json["machine"]["cores"]["usable"] == 6);
  CHECK(json["machine"]["cores"]["quota"] == 6.5);
  CHECK(json["devices"]["gpus"][0]["capability"] == "9.0");
  CHECK(json["devices"]["reason"].is_null());
  CHECK(json["nvml"]["driver"] == "580.65.06");
  CHECK(json["nvml"]["problem"].is_null());
  const auto& gpu = json["nvml"]["gpus"][0];
  CHECK(gpu["persistence"].is_null());
  CHECK(gpu["ecc"] == true);
  CHECK(gpu["link_generation_most"] == 5);
  CHECK(gpu["slowdowns"][0] == "too hot");
  CHECK(gpu["processes"][0]["process"] == 4711);
  CHECK(gpu["processes"][0]["memory_bytes"].is_null());
  CHECK(json["python"]["pillow_turbo"] == true);
  REQUIRE(json["findings"].size() == 4);
  CHECK(json["findings"][3]["topic"] == "bfloat16");
  CHECK(json["findings"][3]["command"] == "unstarve train DATA --precision float32");
}

TEST_CASE("what is missing is null in JSON and named in text", "[doctor]") {
  DoctorFacts facts = testing::good_facts();
  facts.build.arrow.clear();
  facts.python = {};
  const DoctorResult result = examined(facts);
  const auto json = parse_json(to_json(result));
  CHECK(json["build"]["arrow"].is_null());
  CHECK(json["python"].is_null());
  const std::string text = to_text(result);
  CHECK(line_of(text, "Arrow, for Parquet").ends_with("none"));
  CHECK(text.find("Pillow") == std::string::npos);
}

TEST_CASE("text is safe for a terminal and lists facts, findings and commands", "[doctor]") {
  DoctorFacts facts = testing::good_facts();
  facts.machine.cpu_model = "evil\x1b[2J";
  facts.machine.transparent_huge_pages = "never";
  const std::string text = to_text(examined(facts));
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK_THAT(text, Catch::Contains("NVIDIA H200, 149 GB, PCIe 5 x16, 700 W, ECC"));
  CHECK_THAT(text, Catch::Contains("    $ echo madvise | sudo tee"));
  facts.gpus = {NvmlProblem::kNoLibrary, "libnvidia-ml.so.1: cannot open", "", {}};
  CHECK_THAT(to_text(examined(facts)), Catch::Contains("NVIDIA H200, 149 GB, compute capability 9.0"));
}

TEST_CASE("this machine can be inspected", "[doctor]") {
  BuildFacts build;
  build.version = "0.1.0";
  const DoctorResult result = run_doctor(build);
  CHECK(result.facts.machine.memory_bytes > 0);
  CHECK(result.facts.machine.open_files > 0);
  CHECK_FALSE(result.facts.build.compiler.empty());
  CHECK(result.facts.devices.gpus.empty() != result.facts.devices.reason.empty());
  const bool libtorch_missed = std::any_of(result.findings.begin(), result.findings.end(),
                                           [](const DoctorFinding& f) { return f.topic == "libtorch"; });
  CHECK(libtorch_missed);
}
