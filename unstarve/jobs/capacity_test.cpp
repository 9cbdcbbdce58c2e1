#include "unstarve/jobs/capacity.h"
#include "unstarve/core/json.h"

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/open.h"

namespace unstarve {
namespace {

// About 4000 samples/s on any machine: four threads, each of which sleeps 1 ms per sample.
CapacityOptions sleepy_options() {
  CapacityOptions options;
  const std::string data = "sleep:ms=1,images=4096,size=32";
  options.settings = default_settings({data, ""}, *open_dataset(data));
  options.settings.pipeline.execution.threads = 4;
  options.batch = 40;
  options.seconds = 4;
  return options;
}

TEST_CASE("the number of accelerators that a loader of known rate feeds", "[capacity]") {
  const CapacityResult result = run_capacity(sleepy_options());
  CHECK(result.accelerator == "h100-resnet50");
  CHECK(result.demand.samples_per_s() == Approx(1607).epsilon(0.001));
  CHECK(result.figures.loader > 0);
  CHECK(result.figures.loader < 4100);
  CHECK(result.search.fed <= 2);  // three would need 4821 samples/s
  REQUIRE(result.search.utilisation.contains(result.search.fed + 1));
  CHECK(result.search.utilisation.at(result.search.fed + 1) < 0.9);
  // Two accelerators demand 3571 samples/s; a third one has to wait on any machine.
  for (const auto& [number, utilisation] : result.search.utilisation) {
    CAPTURE(number);
    CHECK(utilisation <= 4100.0 / (number * 1785.7));
  }
  CHECK(result.cached);                                    // generated
  CHECK(result.verdict.limit != CapacityLimit::kStorage);  // nothing is stored
  CHECK(result.verdict.limit != CapacityLimit::kCpu);      // the threads sleep
  const CapacityLimit limit = result.verdict.limit;
  CHECK(result.what_if.empty() ==
        (limit == CapacityLimit::kThreads || limit == CapacityLimit::kOthers || limit == CapacityLimit::kQuota));
  CHECK(result.what_if.empty() == result.cores_needed.empty());
  const auto json = parse_json(to_json(result));
  CHECK(json["fed"] == result.search.fed);
  CHECK(json["utilisation"].size() == result.search.utilisation.size());
  CHECK(json["batch"] == 40);
  CHECK(json["step_s"].get<double>() == Approx(0.0224));
  const std::string text = to_text(result);
  CHECK_THAT(text, Catch::Contains("this host feeds " + std::to_string(result.search.fed) + " accelerator"));
  CHECK_THAT(text, Catch::Contains("all accelerators wait for each other"));
}

TEST_CASE("raw samples are read from files of any kind", "[capacity]") {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "unstarve-capacity-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  for (int i = 0; i < 4; ++i) std::ofstream(fs::path(folder) / std::to_string(i)) << std::string(1 << 20, 'x');
  CapacityOptions options;
  options.raw = folder;
  options.workload = "cosmoflow";
  options.sample_bytes = 64 << 10;
  options.ranks = 1;
  options.seconds = 1;
  const CapacityResult result = run_capacity(options);
  fs::remove_all(folder);
  CHECK(result.format == "raw samples");
  CHECK(result.samples == 64);
  CHECK(result.stored_bytes == 4 << 20);
  CHECK(result.demand.min_utilisation == 0.7);
  CHECK(result.storage > 0);
  CHECK(result.storage == result.figures.loader);
  CHECK(result.storage_bytes_per_s == Approx(result.storage * (64 << 10)).epsilon(0.5));
  CHECK(result.figures.storage == (result.cached ? 0 : result.storage));
  CHECK(result.utilisation_independent == 0);  // none waits for another one anyway
  CHECK_THAT(to_text(result), Catch::Contains("a sample has 65"));
}

TEST_CASE("files that are far smaller than a sample do not count as samples", "[capacity]") {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "unstarve-capacity-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  for (int i = 0; i < 4; ++i) std::ofstream(fs::path(folder) / std::to_string(i)) << std::string(100'000, 'x');
  CapacityOptions options;
  options.raw = folder;
  options.workload = "unet3d";
  options.seconds = 0.1;
  CHECK_THAT(testing::error_message([&] { (void)run_capacity(options); }, ErrorKind::kInput),
             Catch::Contains("found 4 files of 100 KB on average; expected samples of 147 MB") &&
                 Catch::Contains("--sample-bytes"));
  fs::remove_all(folder);
}

TEST_CASE("a note states that raw samples differ in size from those of the workload", "[capacity]") {
  CapacityResult result;
  result.workload_sample_bytes = 1000;
  CHECK(sample_size_note(result).empty());  // images
  result.sample_bytes = 1090;
  CHECK(sample_size_note(result).empty());
  result.sample_bytes = 1110;
  CHECK(sample_size_note(result) == "a sample has 1.11 KB, one of the workload 1.00 KB");
}

TEST_CASE("samples that are not images need --raw", "[capacity]") {
  CapacityOptions options = sleepy_options();
  options.workload = "unet3d";
  CHECK_THAT(testing::error_message([&] { (void)run_capacity(options); }, ErrorKind::kArgument),
             Catch::Contains("not images") && Catch::Contains("--raw"));
  CHECK(is_image_workload("b200", "flux"));
  CHECK_FALSE(is_image_workload("v100", "bert"));
}

TEST_CASE("text states that no disk was measured if the data was cached", "[capacity]") {
  CapacityResult result;
  result.memory_bytes = std::uint64_t{64} << 30;
  result.cached = true;
  CHECK_THAT(to_text(result), Catch::Contains("no disk was measured") && Catch::Contains("68.7 GB"));
  CHECK(parse_json(to_json(result))["cached"] == true);
  result.cached = false;
  CHECK(to_text(result).find("no disk was measured") == std::string::npos);
}

TEST_CASE("the page lists emulations by the number of accelerators", "[capacity]") {
  CapacityResult result;
  for (const int accelerators : {6, 7, 9, 8}) {
    result.emulations.emplace_back().accelerators = accelerators;
    result.emulations.emplace_back(EmulatedAccelerators{accelerators, true, {}});
  }
  const Report report = report_of(result, "");
  std::vector<std::string> numbers;
  for (const std::vector<std::string>& row : report.curves.at(0).tables.back().rows) numbers.push_back(row.at(0));
  CHECK(numbers == std::vector<std::string>{"6", "7", "8", "9"});
}

}  // namespace
}  // namespace unstarve
