#include "unstarve/jobs/ladder/ladder.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/observe/machine.h"
#include "unstarve/storage/open.h"

#include "unstarve/pipeline/spec/pass_switches.h"

namespace unstarve {
namespace {

const char* const kData = "sleep:ms=1,images=4096,size=32";

LadderOptions options(const std::string& data, double seconds) {
  LadderOptions options;
  options.target = parse_target("emulated:h100-resnet50");
  options.base = base_of(default_settings({data, ""}, *open_dataset(data), {"", options.target.name}));
  options.seconds = seconds;
  return options;
}

TEST_CASE("a rung that helps is kept, the others are reverted") {
  // One thread of a source that sleeps 1 ms per read delivers 1,000 samples/s; the accelerator consumes 1,786.
  // Therefore more threads help, whatever the load of the machine.
  const auto open = [](double seconds) {
    LadderOptions o = options(kData, seconds);
    return run_ladder(o, open_dataset(kData), rungs());
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
  // The winner has no reverted settings.
  if (entry("prefetch depth").verdict != Verdict::kKept) CHECK(result.winner.pipeline.execution.prefetch == 0);
  if (entry("uint8 over the bus").verdict != Verdict::kKept)
    CHECK(result.winner.pipeline.output.type == ElementType::kFloat32);
  CHECK_FALSE(result.before.step.empty());
  CHECK_FALSE(result.after.utilisation.empty());
}

TEST_CASE("a rung without enough time is undecided, and the reason names the required time") {
  const LadderResult result = run_ladder(options(kData, 0.05), open_dataset(kData), rungs());
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
  const Rung broken[]{{"broken", false, false, [](const RungContext&, const Settings&) { return std::string(); },
                       [](const RungContext&, const Settings& current) {
                         Settings settings = current;
                         settings.pipeline.batch.size = 1 << 20;  // more than the dataset has
                         return std::vector<Candidate>{{settings, "huge"}};
                       }}};
  const LadderResult result = run_ladder(options(kData, 20), open_dataset(kData), broken);
  CHECK(result.ledger.entries[1].verdict == Verdict::kReverted);
  CHECK_THAT(result.ledger.entries[1].reason, Catch::Contains("no full batch"));
}

TEST_CASE("base settings disable all optimisations and scale the learning rate with the batch size") {
  const auto data = open_dataset("synthetic:classes=7,images=20,size=32,seed=1");
  const Settings start = default_settings({"p", ""}, *data);
  const Settings base = base_of(start);
  CHECK(base.pipeline.batch.size == 32);
  CHECK(base.train.learning_rate == Approx(start.train.learning_rate * 32 / start.pipeline.batch.size));
  CHECK(base.pipeline.output.type == ElementType::kFloat32);
  CHECK(base.pipeline.output.layout == Layout::kNchw);
  CHECK(base.pipeline.execution == ExecutionSpec{1, 0, false});
  CHECK_FALSE(is_enabled(base.pipeline, "crop_into_decode"));
  CHECK_FALSE(is_enabled(base.pipeline, "scale_into_decode"));
  CHECK_FALSE(base.train.channels_last);
  CHECK(base.train.precision == Precision::kFloat32);
}

}  // namespace
}  // namespace unstarve
