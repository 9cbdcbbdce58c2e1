#include "unstarve/jobs/ladder/ladder.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/jobs/ladder/rig.h"
#include "unstarve/observe/machine.h"
#include "unstarve/pipeline/spec/pass_switches.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/storage/open.h"

namespace unstarve {
namespace {

const char* const kData = "sleep:ms=1,images=4096,size=32";

LadderOptions options(const std::string& data, double seconds) {
  LadderOptions options;
  options.target = parse_target("emulated:h100-resnet50");
  options.defaults = default_settings({data, ""}, *open_dataset(data), {"", options.target.name});
  options.defaults.pipeline.batch.size = 32;  // 32 ms per step of a worker thread
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
  CHECK(entry("plain settings").verdict == Verdict::kBase);
  CHECK(entry("plain settings").batch == options(kData, 12).defaults.pipeline.batch.size);
  CHECK(entry("plain settings").samples_per_s > 0);
  CHECK(entry("mixed precision").verdict == Verdict::kNotApplicable);
  CHECK_THAT(entry("mixed precision").reason, Catch::Contains("no network"));
  if (read_machine_facts().topology.usable() > 1) {
    CHECK(entry("worker threads").verdict == Verdict::kKept);
    CHECK(entry("worker threads").ratio.pairs >= kMinPairs);
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
  const LadderResult result = run_ladder(options(kData, 12), open_dataset(kData), broken);
  CHECK(result.ledger.entries[1].verdict == Verdict::kReverted);
  CHECK_THAT(result.ledger.entries[1].reason, Catch::Contains("no_such_operation"));
}

// A step that changes the number of prefetched batches.
LadderStep prefetch_step(bool on_request) {
  return {"three batches",
          true,
          false,
          [](const LadderContext&, const Settings&) { return std::string(); },
          [](const LadderContext&, const Settings& current) {
            Settings settings = current;
            settings.pipeline.execution.prefetch = 3;
            return std::vector<Candidate>{{settings, "3 batches"}};
          },
          [](const Settings& from, Settings& to) { to.pipeline.execution.prefetch = from.pipeline.execution.prefetch; },
          on_request ? "word" : ""};
}

TEST_CASE("a step that changes nothing is not faster while its samples are not in the page cache") {
  const LadderStep steps[]{{"nothing", false, false,
                            [](const LadderContext&, const Settings&) { return std::string(); },
                            [](const LadderContext&, const Settings& current) {
                              return std::vector<Candidate>{{current, "nothing"}};
                            },
                            [](const Settings&, Settings&) {}}};
  // A thread reads 500 samples/s, or more than the accelerator consumes if the samples were read before.
  const char* const cold = "sleep:ms=2,images=100000,size=32,once=1";
  LadderOptions o = options(cold, 9);
  o.defaults.pipeline.batch.size = 8;
  const LadderResult result = run_ladder(o, open_dataset(cold), steps);
  const LedgerEntry& entry = result.ledger.entries[1];
  INFO(entry.reason);
  CHECK(entry.ratio.pairs >= kMinPairs);
  CHECK(entry.ratio.ratio == Approx(1).margin(0.3));
  CHECK(entry.ratio.low < 1.1);  // the ratio without another start is 2 or more
}

TEST_CASE("measurements begin with samples that the ones before have not read") {
  PipelineSpec spec;
  CHECK(start_of_measurement(spec, 1000, 0) == EpochPosition());
  CHECK(start_of_measurement(spec, 1000, 3) == EpochPosition{.epoch = 3});
  PipelineSpec scheduled = spec;
  OpValue probability;
  probability.schedule = {.points = {{0, {0}}, {8, {1}}}};
  scheduled.operations = {{"gaussian_blur", {{"probability", probability}}}};
  CHECK(start_of_measurement(scheduled, 1000, 3).epoch == 0);
  std::swap(scheduled.operations, scheduled.batch_operations);
  CHECK(start_of_measurement(scheduled, 1000, 3).epoch == 0);
  spec.order.shuffle = false;
  spec.source.take = 10;
  for (std::uint32_t number = 0; number < 20; ++number) CHECK(start_of_measurement(spec, 1000, number).offset < 10);
  spec.source.take.reset();
  CHECK(start_of_measurement(spec, 1000, 0) == EpochPosition());
  std::vector<std::uint64_t> offsets;
  for (std::uint32_t number = 0; number < 20; ++number) {
    const EpochPosition start = start_of_measurement(spec, 1000, number);
    CHECK(start == EpochPosition{.offset = start.offset});
    offsets.push_back(start.offset);
  }
  std::ranges::sort(offsets);
  CHECK(offsets.back() < 1000);
  for (std::size_t i = 1; i < offsets.size(); ++i) CHECK(offsets[i] - offsets[i - 1] > 7);
}

TEST_CASE("a kept step is added to the defaults, a slower one is removed from them, another one stays as it is") {
  const LadderStep step = prefetch_step(false);
  Settings before, after, defaults;
  before.pipeline.execution.prefetch = 0;
  after.pipeline.execution.prefetch = 3;
  defaults.pipeline.execution.prefetch = 2;
  const auto tuned = [&](RatioInterval ratio, Verdict verdict) {
    LedgerEntry entry;
    entry.ratio = ratio;
    entry.verdict = verdict;
    Settings settings = defaults;
    apply_measured(step, entry, before, after, settings);
    return settings.pipeline.execution.prefetch;
  };
  CHECK(tuned({1.2, 1.1, 1.3, 8}, Verdict::kKept) == 3);
  CHECK(tuned({0.8, 0.7, 0.9, 8}, Verdict::kReverted) == 0);
  CHECK(tuned({0.95, 0.9, 1.01, 8}, Verdict::kReverted) == 2);
  CHECK(tuned({1.2, 1.1, 1.3, 8}, Verdict::kReverted) == 2);  // the loss diverged
  CHECK(tuned({0.8, 0.7, 0.9, 5}, Verdict::kUndecided) == 2);
}

// Runs that reach accuracy 1 at the end: after 1 s, or after `seconds` with the step.
TrainHistory run_of(const Settings& settings, double seconds) {
  TrainHistory history;
  history.steps = 10;
  history.samples = 320;
  EvaluationPoint end;
  end.accuracy = 1;
  // Runs of other seeds differ by a few percent.
  const double noise = 1 + 0.01 * static_cast<double>(settings.train.seed % 3);
  end.training_seconds = noise * (settings.pipeline.execution.prefetch == 3 ? seconds : 1);
  history.evaluations = {end};
  return history;
}

TEST_CASE("a step that is tried on request is compared by whole runs and added to the winner if it is faster") {
  const LadderStep steps[]{prefetch_step(true)};
  for (const double seconds : {0.8, 1.25, 1.0}) {
    LadderOptions o = options(kData, 2);
    std::vector<std::pair<std::uint64_t, bool>> runs;
    o.train = [&](const Settings& settings) {
      CHECK(settings.train.seed == settings.pipeline.order.seed);
      runs.emplace_back(settings.train.seed, settings.pipeline.execution.prefetch == 3);
      return run_of(settings, seconds);
    };
    const LadderResult result = run_ladder(o, open_dataset(kData), steps);
    REQUIRE(result.ledger.entries.size() == 3);
    const LedgerEntry& entry = result.ledger.entries[1];
    INFO(entry.reason);
    CHECK(entry.by_accuracy);
    CHECK(entry.ratio.ratio == Approx(1 / seconds));
    CHECK(entry.ratio.pairs == kMinPairs);
    const bool kept = seconds < 1;
    CHECK(entry.verdict == (kept ? Verdict::kKept : Verdict::kReverted));
    CHECK(result.winner.pipeline.execution.prefetch == (kept ? 3 : o.defaults.pipeline.execution.prefetch));
    CHECK(result.tuned == kept);
    CHECK_THAT(entry.reason, Catch::Contains("100.0 % accuracy after"));
    // Each pair has a seed of its own and one run of each kind; the order alternates.
    REQUIRE(runs.size() == 2 * kMinPairs);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      CHECK(runs[i].first == o.defaults.train.seed + i / 2);
      CHECK(runs[i].second == (i % 4 == 1 || i % 4 == 2));
    }
  }
}

TEST_CASE("a run that fails reverts its step with the reason") {
  const LadderStep steps[]{prefetch_step(true)};
  LadderOptions o = options(kData, 2);
  o.train = [](const Settings&) -> TrainHistory { throw Error(ErrorKind::kMemory, "no memory left"); };
  const LadderResult result = run_ladder(o, open_dataset(kData), steps);
  CHECK(result.ledger.entries[1].verdict == Verdict::kReverted);
  CHECK(result.ledger.entries[1].reason == "no memory left");
  CHECK(result.winner == o.defaults);
}

TEST_CASE("a network that is too slow for the time is measured with a smaller batch, but keeps its own") {
  const char* const data = "synthetic:classes=2,images=512,size=32";
  LadderOptions o;
  o.target = parse_target("cpu");
  o.defaults = default_settings({data, ""}, *open_dataset(data), {"cifar_net", "cpu"});
  o.seconds = 0.2;
  o.may_reduce_batch = true;
  std::vector<double> shares;
  const LadderResult result = run_ladder(o, open_dataset(data), ladder_steps(),
                                         [&](std::string_view, double share) { shares.push_back(share); });
  CHECK(result.reduced_to > 0);
  CHECK(result.reduced_to < o.defaults.pipeline.batch.size);
  CHECK(result.ledger.entries.front().batch <= result.reduced_to);
  CHECK(result.ledger.entries.back().batch == result.reduced_to);
  CHECK(result.winner.pipeline.batch == o.defaults.pipeline.batch);
  CHECK(result.winner.train.learning_rate == o.defaults.train.learning_rate);
  CHECK(result.seconds_needed > o.seconds);
  CHECK(std::ranges::is_sorted(shares));
  CHECK(std::ranges::count_if(shares, [](double share) { return share > 0 && share < 1; }) > 5);
}

TEST_CASE("a time that the base and its comparison exceed is announced before the first step") {
  std::vector<std::string> events;
  set_notice_sink([&](const std::string& text) { events.push_back(text); });
  const LadderStep steps[]{prefetch_step(false)};
  const char* const slow = "sleep:ms=10,images=4096,size=32";  // a step takes more than 320 ms
  const LadderOptions o = options(slow, 0.02);
  (void)run_ladder(o, open_dataset(slow), steps, [&](std::string_view what, double) { events.emplace_back(what); });
  set_notice_sink({});
  const auto notice =
      std::ranges::find_if(events, [](const std::string& event) { return event.starts_with("tune: about"); });
  REQUIRE(notice != events.end());
  CHECK_THAT(*notice, Catch::Contains("a step of 32 samples takes 0.") && Catch::Contains("longer --minutes"));
  CHECK(std::ranges::find(events, "best compared with plain settings") > notice);
  CHECK(std::all_of(events.begin(), notice, [](const std::string& event) { return event == "plain settings"; }));
}

TEST_CASE("base settings disable all optimisations, scale the learning rate and keep the rest of the spec") {
  const auto data = open_dataset("synthetic:classes=7,images=400,size=32,seed=1");
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
  CHECK_FALSE(base.train.fused_batch_norm);
  CHECK_FALSE(base.train.winograd);
  CHECK(base.train.precision == Precision::kFloat32);
  set_batch(start, 8);  // smaller than theirs
  CHECK(base_of(start, parse_target("cpu")).pipeline.batch.size == 8);
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
  context.data.encoded = true;
  context.samples = 1 << 20;
  context.host.allocators = {{HeapAllocator::kMimalloc, "/lib/libmimalloc.so.2"}};
  for (const std::string_view word : words_to_try()) context.tried.emplace_back(word);
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
