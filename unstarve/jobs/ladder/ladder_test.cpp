#include "unstarve/jobs/ladder/ladder.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/jobs/ladder/rig.h"
#include "unstarve/observe/machine.h"
#include "unstarve/storage/open.h"

#include "unstarve/pipeline/spec/pass_switches.h"

namespace unstarve {
namespace {

const char* const kData = "sleep:ms=1,images=4096,size=32";

LadderOptions options(const std::string& data, double seconds) {
  LadderOptions options;
  options.target = parse_target("emulated:h100-resnet50");
  options.defaults = default_settings({data, ""}, *open_dataset(data), {"", options.target.name});
  options.defaults.pipeline.batch.size = 32;  // 32 ms per step of a loader thread
  options.seconds = seconds;
  return options;
}

TEST_CASE("a step that helps is kept, the others are reverted") {
  // One thread of a source that sleeps 1 ms per read delivers 1,000 samples/s; the accelerator consumes 1,786.
  // Therefore more threads help, whatever the load of the machine.
  const auto open = [](double seconds) {
    LadderOptions o = options(kData, seconds);
    return run_ladder(o, open_dataset(kData), ladder_steps());
  };
  const LadderResult result = open(12);
  REQUIRE(result.ledger.entries.size() == 2 + ladder_steps().size());
  const auto entry = [&](std::string_view name) {
    for (const LedgerEntry& e : result.ledger.entries)
      if (e.name == name) return e;
    throw std::runtime_error("no such step");
  };
  CHECK(entry("base").verdict == Verdict::kBase);
  CHECK(entry("base").batch == options(kData, 12).defaults.pipeline.batch.size);
  CHECK(entry("base").samples_per_s > 0);
  CHECK(entry("mixed precision").verdict == Verdict::kNotApplicable);
  CHECK_THAT(entry("mixed precision").reason, Catch::Contains("no network"));
  if (read_machine_facts().topology.usable() > 1) {
    CHECK(entry("loader threads").verdict == Verdict::kKept);
    CHECK(entry("loader threads").ratio.pairs >= kMinPairs);
    CHECK(result.over_base.ratio > 1);
  }
  // Steps that were not kept have their default, not the base settings.
  const Settings defaults = options(kData, 12).defaults;
  CHECK(result.winner.pipeline.output == defaults.pipeline.output);
  CHECK(result.winner.train == defaults.train);
  if (entry("prefetch depth").verdict != Verdict::kKept)
    CHECK(result.winner.pipeline.execution.prefetch == defaults.pipeline.execution.prefetch);
  CHECK(result.tuned == (judge(result.over_defaults) == Verdict::kKept));
  CHECK((result.winner == defaults) != result.tuned);
  // The table shows the final comparison.
  const LedgerEntry& last = result.ledger.entries.back();
  CHECK(last.verdict == Verdict::kFinal);
  CHECK(last.ratio.ratio == result.over_base.ratio);
  CHECK(final_entry(result.ledger) == &last);
  CHECK_FALSE(result.before.step.empty());
  CHECK_FALSE(result.after.utilisation.empty());
}

TEST_CASE("a step without enough time is undecided, and the reason names the required time") {
  const LadderResult result = run_ladder(options(kData, 0.05), open_dataset(kData), ladder_steps());
  int undecided = 0;
  for (const LedgerEntry& entry : result.ledger.entries) {
    CHECK(entry.verdict != Verdict::kKept);
    if (entry.verdict != Verdict::kUndecided) continue;
    ++undecided;
    CHECK_THAT(entry.reason, Catch::Contains("--minutes"));
  }
  CHECK(undecided >= 2);
  CHECK(result.winner == options(kData, 1).defaults);
  CHECK_FALSE(result.tuned);
  CHECK(result.over_defaults.pairs == 0);
}

TEST_CASE("a step whose rig cannot be built is reverted with the reason") {
  const LadderStep broken[]{{"broken", false, false,
                             [](const LadderContext&, const Settings&) { return std::string(); },
                             [](const LadderContext&, const Settings& current) {
                               Settings settings = current;
                               settings.pipeline.operations = {{"no_such_operation", {}}};
                               return std::vector<Candidate>{{settings, "broken"}};
                             },
                             [](const Settings&, Settings&) {}}};
  const LadderResult result = run_ladder(options(kData, 8), open_dataset(kData), broken);
  CHECK(result.ledger.entries[1].verdict == Verdict::kReverted);
  CHECK_THAT(result.ledger.entries[1].reason, Catch::Contains("no_such_operation"));
}

TEST_CASE("base settings disable all optimisations, scale the learning rate and keep the rest of the spec") {
  const auto data = open_dataset("synthetic:classes=7,images=20,size=32,seed=1");
  Settings start = default_settings({"p", ""}, *data);
  start.pipeline.execution.memory_limit_mb = 500;
  start.pipeline.execution.cpu_limit = 3;
  start.pipeline.execution.read_ahead = 7;
  start.pipeline.execution.order = ExecutionOrder::kRelaxed;
  start.pipeline.order.seed = 9;
  const Settings base = base_of(start, parse_target("cpu"));
  CHECK(base.pipeline.batch.size == 32);
  CHECK(base.train.learning_rate == Approx(start.train.learning_rate * 32 / start.pipeline.batch.size));
  CHECK(base.pipeline.output.type == ElementType::kFloat32);
  CHECK(base.pipeline.output.layout == Layout::kNchw);
  ExecutionSpec execution = start.pipeline.execution;
  execution.threads = 1;
  execution.prefetch = 0;
  execution.pinned = false;
  CHECK(base.pipeline.execution == execution);
  CHECK(base.pipeline.order == start.pipeline.order);
  CHECK_FALSE(is_enabled(base.pipeline, "crop_into_decode"));
  CHECK_FALSE(is_enabled(base.pipeline, "scale_into_decode"));
  CHECK_FALSE(base.train.channels_last);
  CHECK(base.train.precision == Precision::kFloat32);
}

TEST_CASE("for an emulated accelerator, base settings keep batch, element type and network") {
  const Settings start = options(kData, 1).defaults;
  const Settings base = base_of(start, parse_target("emulated:h100-resnet50"));
  CHECK(base.train == start.train);
  CHECK(base.pipeline.batch == start.pipeline.batch);
  CHECK(base.pipeline.output == start.pipeline.output);
  CHECK(base.pipeline.execution.threads == 1);
}

TEST_CASE("every step copies exactly what its candidates change") {
  const Settings plain = base_of(options(kData, 1).defaults, parse_target("cpu"));
  LadderContext context;
  context.target = parse_target("cpu");
  context.machine = read_machine_facts();
  context.encoded = true;
  context.samples = 1 << 20;
  context.host.allocators = {{HeapAllocator::kMimalloc, "/lib/libmimalloc.so.2"}};
  for (const LadderStep& step : ladder_steps()) {
    for (const Candidate& candidate : step.candidates(context, plain)) {
      Settings copied = plain;
      step.copy(candidate.settings, copied);
      INFO(step.name);
      CHECK(copied == candidate.settings);
    }
  }
}

TEST_CASE("fewer samples than an accelerator's batch repeat while they are measured") {
  const std::string few = "synthetic:classes=3,images=20,size=32,seed=1";
  const LadderOptions small = options(few, 1);
  Rig rig(small.defaults, open_dataset(few), small.target);
  CHECK(rig.run(0, 3).samples == 3 * small.defaults.pipeline.batch.size);
  CHECK(rig.settings() == small.defaults);
}

}  // namespace
}  // namespace unstarve
