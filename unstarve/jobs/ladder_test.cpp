#include "unstarve/jobs/ladder/ladder.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/jobs/bench.h"
#include "unstarve/jobs/tune.h"
#include "unstarve/storage/open.h"

namespace unstarve {
namespace {

const char* const kData = "sleep:ms=1,images=4096,size=32";

LadderOptions options(const std::string& data, double seconds) {
  LadderOptions options;
  options.target = parse_target("emulated:h100-resnet50");
  options.base = base_of(default_settings(data, "", *open_dataset(data), "", options.target.name));
  options.seconds = seconds;
  return options;
}

TEST_CASE("a rung that pays is kept, and the others are undone") {
  // A source that sleeps a millisecond per read serves one thread 1,000 samples a second; the accelerator takes 1,786.
  // More threads must therefore pay, whatever the machine is busy with.
  const auto open = [](double seconds) {
    LadderOptions o = options(kData, seconds);
    return climb(o, open_dataset(kData), rungs());
  };
  const LadderResult result = open(12);
  REQUIRE(result.ledger.entries.size() == 1 + rungs().size());
  const auto entry = [&](std::string_view name) {
    for (const LedgerEntry& e : result.ledger.entries)
      if (e.name == name) return e;
    throw std::runtime_error("no such rung");
  };
  CHECK(entry("base").verdict == Verdict::kBase);
  CHECK(entry("base").batch == 32);
  CHECK(entry("base").samples_per_s > 0);
  CHECK(entry("mixed precision").verdict == Verdict::kNotApplicable);
  CHECK_THAT(entry("mixed precision").reason, Catch::Contains("no network"));
  if (read_machine_facts().topology.usable() > 1) {
    CHECK(entry("loader threads").verdict == Verdict::kKept);
    CHECK(entry("loader threads").ratio.pairs >= kMinPairs);
    CHECK(result.winner.pipeline.execution.threads > 1);
    CHECK(result.total.ratio > 1);
  }
  // What was not kept is not in the winner.
  if (entry("prefetch depth").verdict != Verdict::kKept) CHECK(result.winner.pipeline.execution.prefetch == 0);
  if (entry("uint8 over the bus").verdict != Verdict::kKept)
    CHECK(result.winner.pipeline.output.type == ElementType::kFloat32);
  CHECK_FALSE(result.before.step.empty());
  CHECK_FALSE(result.after.utilisation.empty());
}

TEST_CASE("without time for enough pairs a rung is undecided, with what it would take") {
  const LadderResult result = climb(options(kData, 0.05), open_dataset(kData), rungs());
  int undecided = 0;
  for (const LedgerEntry& entry : result.ledger.entries) {
    CHECK(entry.verdict != Verdict::kKept);
    if (entry.verdict != Verdict::kUndecided) continue;
    ++undecided;
    CHECK_THAT(entry.reason, Catch::Contains("--minutes"));
  }
  CHECK(undecided >= 2);
  CHECK(result.winner == options(kData, 1).base);
}

TEST_CASE("a rung whose rig cannot be built is reverted with the reason") {
  static const Rung broken{"broken", false, false, [](const RungContext&, const Settings&) { return std::string(); },
                           [](const RungContext&, const Settings& current) {
                             Settings settings = current;
                             settings.pipeline.batch.size = 1 << 20;  // more than there are samples
                             return std::vector<Candidate>{{settings, "huge"}};
                           }};
  const Rung* const only[] = {&broken};
  const LadderResult result = climb(options(kData, 20), open_dataset(kData), only);
  CHECK(result.ledger.entries[1].verdict == Verdict::kReverted);
  CHECK_THAT(result.ledger.entries[1].reason, Catch::Contains("no full batch"));
}

TEST_CASE("tune's JSON holds what is promised of it") {
  TuneOptions tune;
  tune.device = "emulated:h100-resnet50";
  tune.settings = default_settings(kData, "", *open_dataset(kData), "", tune.device);
  tune.minutes = 0.05;
  const TuneResult result = run_tune(tune);
  const auto json = nlohmann::json::parse(to_json(result));
  CHECK(json["base"].get<double>() > 0);
  CHECK(json["final"].get<double>() > 0);
  REQUIRE(json["rungs"].size() == 1 + rungs().size());
  for (const auto& rung : json["rungs"])
    for (const char* key :
         {"name", "status", "reason", "batch", "memory_bytes", "step_ms", "samples_per_s", "ratio", "low", "high"})
      CHECK(rung.contains(key));
  const Settings winner = settings_from_yaml(winner_yaml(result, "unstarve tune"), "tuned.yaml");
  CHECK(winner == result.winner);
}

TEST_CASE("a bench finds a starved accelerator, and says so") {
  BenchOptions bench;
  bench.target = parse_target("emulated:h100-resnet50");
  bench.settings = options(kData, 1).base;
  bench.seconds = 3;
  const BenchResult result = run_bench(bench);
  const BenchFigures& f = result.figures;
  CHECK(f.loader > 0);
  CHECK(f.loader < 1100);  // one thread, a millisecond asleep each
  CHECK(f.network == Approx(1786).epsilon(0.2));
  CHECK(f.together < f.network);
  CHECK(f.utilisation < 0.7);
  CHECK(result.verdict.bottleneck != Bottleneck::kNetwork);
  const auto json = nlohmann::json::parse(to_json(result));
  for (const char* key : {"loader", "copy", "network", "together", "overlap", "utilisation", "verdict", "data_wait"})
    CHECK(json.contains(key));
}

TEST_CASE("step parts are summarised, and utilisation never passes 1") {
  std::vector<StepParts> steps(10);
  for (auto& step : steps) {
    step.wait_ns = 1'000'000;
    step.compute_ns = 3'000'000;
    step.network.forward_ms = 1;
    step.network.backward_ms = 2;
  }
  const auto parts = summarise(steps);
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].name == "wait");
  CHECK(parts[2].name == "backward");
  CHECK(parts[2].mean_ms == Approx(2));
  const auto line = utilisation_over_time(steps, 0, 4);
  REQUIRE(line.size() == 4);
  CHECK(line[0].utilisation == Approx(0.75));
  CHECK(line.back().seconds == Approx(0.04));
  CHECK(utilisation_over_time(steps, 9'000'000)[0].utilisation == 1);
}

}  // namespace
}  // namespace unstarve
