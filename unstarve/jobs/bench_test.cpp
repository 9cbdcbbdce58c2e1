#include "unstarve/jobs/bench.h"
#include "unstarve/core/json.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "unstarve/jobs/ladder/ladder.h"
#include "unstarve/storage/open.h"

namespace unstarve {
namespace {

const char* const kData = "sleep:ms=1,images=4096,size=32";

TEST_CASE("bench detects an accelerator that waits for data") {
  BenchOptions bench;
  bench.target = parse_target("emulated:h100-resnet50");
  bench.settings = base_of(default_settings({kData, ""}, *open_dataset(kData), {"", bench.target.name}), bench.target);
  bench.seconds = 3;
  const BenchResult result = run_bench(bench);
  const BenchFigures& f = result.figures;
  CHECK(f.loader > 0);
  CHECK(f.loader < 1100);  // one thread sleeps 1 ms per sample
  CHECK(f.network == Approx(1786).epsilon(0.2));
  CHECK(f.together < f.network);
  CHECK(f.utilisation < 0.7);
  CHECK(result.verdict.bottleneck != Bottleneck::kNetwork);
  const auto json = parse_json(to_json(result));
  for (const char* key : {"loader", "copy", "network", "together", "overlap", "utilisation", "verdict", "data_wait"})
    CHECK(json.contains(key));
}

TEST_CASE("rounds of bench read samples that are not in the page cache") {
  const char* const cold = "sleep:ms=2,images=100000,size=32,once=1";
  BenchOptions bench;
  bench.target = parse_target("emulated:h100-resnet50");
  bench.settings = default_settings({cold, ""}, *open_dataset(cold), {"", bench.target.name});
  bench.settings.pipeline.execution.threads = 1;
  set_batch(bench.settings, 32);
  bench.seconds = 3;
  const BenchResult result = run_bench(bench);
  for (const std::vector<double>& rates : {result.rates.storage, result.rates.loader}) {
    REQUIRE(rates.size() == 3);
    CHECK(*std::ranges::max_element(rates) < 1000);  // 500 with sleeps of 2 ms
  }
  CHECK(result.verdict.bottleneck != Bottleneck::kContention);
}

TEST_CASE("a batch size that nobody requested is reduced if its steps are too slow") {
  const char* const data = "synthetic:classes=2,images=512,size=32";
  BenchOptions bench;
  bench.target = parse_target("cpu");
  bench.settings = default_settings({data, ""}, *open_dataset(data), {"cifar_net", "cpu"});
  bench.seconds = 0.05;  // five steps of 256 samples take longer
  bench.may_reduce_batch = true;
  const int batch = bench.settings.pipeline.batch.size;
  const BenchResult result = run_bench(bench);
  CHECK(result.reduced_from == batch);
  CHECK(result.settings.pipeline.batch.size < batch);
  CHECK(result.figures.network > 0);
  CHECK(to_text(result).find("samples per step instead of 256") != std::string::npos);
  CHECK(parse_json(to_json(result))["batch_reduced_from"] == batch);
}

TEST_CASE("slow rates are shown with their digits") {
  BenchResult result;
  result.figures.network = 0.4;
  result.figures.loader = 1234.5;
  CHECK_THAT(to_text(result), Catch::Contains(" 0.400 samples/s") && Catch::Contains(" 1 234 samples/s"));
}

TEST_CASE("rates that contradict each other have no overlap") {
  BenchResult result;
  result.figures.loader = 100;
  result.figures.copy = 1000;
  result.figures.network = 900;
  result.figures.together = 250;
  result.verdict = judge_bench(result.figures);
  CHECK(to_text(result).find("overlap -, utilisation") != std::string::npos);
  result.figures.together = 98;
  result.verdict = judge_bench(result.figures);
  CHECK(to_text(result).find("overlap 98.0 %, utilisation") != std::string::npos);
}

}  // namespace
}  // namespace unstarve
