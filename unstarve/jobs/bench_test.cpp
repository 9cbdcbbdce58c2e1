#include "unstarve/jobs/bench.h"

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
  const auto json = nlohmann::json::parse(to_json(result));
  for (const char* key : {"loader", "copy", "network", "together", "overlap", "utilisation", "verdict", "data_wait"})
    CHECK(json.contains(key));
}

}  // namespace
}  // namespace unstarve
