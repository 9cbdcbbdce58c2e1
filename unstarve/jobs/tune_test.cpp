#include "unstarve/jobs/tune.h"
#include "unstarve/core/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "unstarve/core/random.h"
#include "unstarve/jobs/ladder/ladder_step.h"
#include "unstarve/observe/report.h"
#include "unstarve/pipeline/spec/spec_document.h"
#include "unstarve/storage/open.h"

namespace unstarve {
namespace {

const char* const kTuneData = "sleep:ms=1,images=4096,size=32";

TEST_CASE("the JSON of tune contains the documented keys") {
  TuneOptions tune;
  tune.device = "emulated:h100-resnet50";
  tune.settings = default_settings({kTuneData, ""}, *open_dataset(kTuneData), {"", tune.device});
  tune.minutes = 0.05;
  const TuneResult result = run_tune(tune);
  const auto json = parse_json(to_json(result));
  CHECK(json["base"].get<double>() > 0);
  CHECK(json["final"].get<double>() > 0);
  REQUIRE(json["rungs"].size() == 2 + ladder_steps().size());
  CHECK(json.contains("over_defaults"));
  CHECK(json["total"]["ratio"] == json["rungs"].back()["relative"]);
  CHECK(json["final"].get<double>() / json["base"].get<double>() == Approx(json["total"]["ratio"].get<double>()));
  for (const auto& step : json["rungs"])
    for (const char* key :
         {"name", "status", "reason", "batch", "memory_bytes", "step_ms", "samples_per_s", "ratio", "low", "high"})
      CHECK(step.contains(key));
  // The file has the pipeline only: an emulated accelerator does not determine precision and layout of a network.
  const std::string yaml = winner_yaml(result, "unstarve tune");
  CHECK(yaml.find("train:") == std::string::npos);
  // Nor of the batches, unless the user's spec does.
  CHECK(yaml.find("output") == std::string::npos);
  PipelineSpec expected = result.winner.pipeline;
  expected.output = {};
  CHECK(read_spec_document(yaml, "tuned.yaml").pipeline == expected);
  TuneResult of_spec = result;
  of_spec.own_output = true;
  expected.output = result.winner.pipeline.output;
  expected.output.normalisation = {};  // pixels are uint8
  CHECK(read_spec_document(winner_yaml(of_spec, "unstarve tune"), "tuned.yaml").pipeline == expected);
}

TEST_CASE("the settings file of a real device has the network's settings") {
  TuneResult result;
  result.winner = default_settings({kTuneData, ""}, *open_dataset(kTuneData));
  CHECK(settings_from_yaml(winner_yaml(result, "unstarve tune"), "tuned.yaml") == result.winner);
}

TEST_CASE("the verdict recommends the defaults unless the kept steps are faster") {
  const RatioInterval base{2, 1.9, 2.1, 8};
  CHECK_THAT(verdict_of(base, {}, KeptSteps::kNone), Catch::StartsWith("defaults are best: no step was kept"));
  CHECK_THAT(verdict_of(base, {}, KeptSteps::kInDefaults), Catch::StartsWith("defaults are best: they contain"));
  CHECK_THAT(verdict_of(base, {0.55, 0.5, 0.6, 8}, KeptSteps::kNotFaster),
             Catch::StartsWith("defaults are best: the kept steps reach 0.55"));
  CHECK_THAT(verdict_of(base, {1.01, 0.9, 1.1, 8}, KeptSteps::kNotFaster),
             Catch::StartsWith("the defaults stay: the kept steps reach 1.01") && Catch::Contains("longer --minutes"));
  CHECK_THAT(
      verdict_of(base, {1.01, 0.9, 1.1, 8}, KeptSteps::kFewerNotFaster),
      Catch::StartsWith("the defaults stay: no step was faster; the defaults without the slower steps reach 1.01"));
  CHECK_THAT(verdict_of(base, {1.2, 1.1, 1.3, 8}, KeptSteps::kFewerFaster),
             Catch::StartsWith("no step was faster; the defaults without the slower steps reach 1.20"));
  CHECK_THAT(verdict_of(base, {1, 0.998, 1.002, 8}, KeptSteps::kNotFaster), !Catch::Contains("--minutes"));
  CHECK_THAT(verdict_of(base, {}, KeptSteps::kNotMeasured),
             Catch::StartsWith("the defaults stay: no step was measured, because --minutes is too short"));
  CHECK_THAT(verdict_of({0.97, 0.95, 0.99, 6}, {}, KeptSteps::kNone),
             Catch::StartsWith("the defaults stay: no step was kept") &&
                 Catch::EndsWith("the plain settings, which are faster"));
  CHECK_THAT(verdict_of({2.76, 0.02, 345, 2}, {}, KeptSteps::kNone), Catch::Contains("too wide to decide"));
  const std::string tuned = verdict_of(base, {1.2, 1.1, 1.3, 8}, KeptSteps::kFaster);
  CHECK_THAT(tuned, Catch::Contains("1.20 [1.10, 1.30] times the defaults"));
  CHECK_THAT(tuned, Catch::Contains("2.00 [1.90, 2.10] times the plain settings"));
}

// A made-up result. Steps that were kept may all be in the defaults already, and are then not compared with them. Steps
// of the defaults that make the plain settings slower are left out, and the others are compared with the defaults.
TuneResult made_up(Random& random) {
  TuneResult result;
  const auto interval = [&] {
    const double ratio = random.uniform(0.4, 3), width = random.uniform(0, 0.5);
    return RatioInterval{ratio, ratio * (1 - width), ratio * (1 + width), 8};
  };
  LedgerEntry entry;
  entry.name = "plain settings";
  entry.samples_per_s = random.uniform(100, 5000);
  result.ledger.entries.push_back(entry);
  bool any_compared = false;
  const bool all_left_out = random.below(8) == 0;
  for (int i = 0; i < 5; ++i) {
    entry = {};
    entry.name = "step " + std::to_string(i);
    entry.ratio = all_left_out || random.below(4) == 0 ? RatioInterval{} : interval();
    const Verdict left_out = random.below(2) == 0 ? Verdict::kNotApplicable : Verdict::kUndecided;
    entry.verdict = entry.ratio.pairs > 0 ? judge(entry.ratio) : left_out;
    entry.samples_per_s = entry.ratio.pairs > 0 ? random.uniform(100, 5000) : 0;
    any_compared |= entry.verdict == Verdict::kKept || (entry.ratio.pairs > 0 && entry.ratio.high < 1);
    result.ledger.entries.push_back(entry);
  }
  if (any_compared && random.below(3) > 0) result.over_defaults = interval();
  for (std::uint32_t i = random.below(3); i > 0; --i) {  // of --try
    entry = {};
    entry.name = "tried step " + std::to_string(i);
    entry.by_accuracy = true;
    entry.ratio = random.below(4) == 0 ? RatioInterval{} : interval();
    entry.verdict = judge(entry.ratio);
    result.ledger.entries.push_back(entry);
  }
  result.total = interval();
  entry = {};
  entry.name = "final";
  entry.verdict = Verdict::kFinal;
  entry.ratio = result.total;
  entry.samples_per_s = result.ledger.entries[0].samples_per_s * result.total.ratio;
  result.ledger.entries.push_back(entry);
  result.verdict = verdict_of(result.total, result.over_defaults, kept_steps(result.ledger, result.over_defaults));
  return result;
}

TEST_CASE("verdict, table, JSON and report of any ledger agree") {
  for (std::uint32_t draw = 0; draw < 200; ++draw) {
    Random random(1, draw, 0, 0);
    std::vector<TuneResult> results{made_up(random)};
    describe_noise(results, "unstarve tune photos --minutes 2", 2);
    const TuneResult& result = results[0];
    INFO(to_text(result, 200));
    const auto& entries = result.ledger.entries;
    const auto kept_by = [&](bool accuracy) {
      return std::ranges::any_of(
          entries, [&](const auto& e) { return e.by_accuracy == accuracy && e.verdict == Verdict::kKept; });
    };
    const bool by_accuracy = kept_by(true);
    const auto says = [&](const char* text) { return result.verdict.find(text) != std::string::npos; };
    const bool best = result.verdict.starts_with("defaults are best");
    const bool stay = result.verdict.starts_with("the defaults stay");
    const bool not_faster = result.over_defaults.pairs == 0 || result.over_defaults.low <= 1;
    CHECK((says("no step was kept") || says("no step was measured") || says("no step was faster")) ==
          (!kept_by(false) && !(not_faster && by_accuracy)));
    CHECK_FALSE((says("no step was kept") && by_accuracy));
    CHECK((best || stay) == (not_faster && !by_accuracy));
    CHECK(says("kept for their time to accuracy") == (not_faster && by_accuracy));
    CHECK_FALSE(says("[0.00, 0.00]"));
    CHECK(says(" times the defaults") == (result.over_defaults.pairs > 0));
    const bool below_base = result.total.high < 1;
    CHECK_FALSE((best && below_base));
    CHECK(says("which are faster") == below_base);
    // What is left open is named, with a command that measures longer, in every output.
    const auto open = [](const RatioInterval& r) {
      return r.pairs > 0 && r.low <= 1 && r.high >= 1 && r.high > 1.1 * r.low;
    };
    const bool left_out =
        std::ranges::any_of(entries, [](const auto& e) { return !e.by_accuracy && e.verdict == Verdict::kUndecided; });
    const bool any_open = std::ranges::any_of(
        entries, [&](const auto& e) { return !e.by_accuracy && e.verdict != Verdict::kFinal && open(e.ratio); });
    CHECK(result.noise.empty() == !(any_open || left_out || open(result.total) || open(result.over_defaults)));
    const auto noted = [&](const char* text) { return result.noise.find(text) != std::string::npos; };
    CHECK(noted("the comparison with the plain settings") == open(result.total));
    CHECK(noted("the time was too short to measure") == left_out);
    if (!result.noise.empty()) {
      const std::string command = "measure longer with: unstarve tune photos --minutes ";
      REQUIRE_THAT(result.noise, Catch::Contains(command));
      CHECK(std::stod(result.noise.substr(result.noise.find(command) + command.size())) > 2);
    }
    CHECK_THAT(to_text(result, 200), Catch::Contains(result.noise));
    const std::string ratio = fmt::format("{:.2f}", result.total.ratio);
    CHECK_THAT(result.verdict, Catch::Contains(ratio + " ["));
    CHECK_THAT(to_text(result, 200), Catch::Contains(fmt::format("{:.0f} %", 100 * result.total.ratio)));
    CHECK_THAT(render_report(report_of({result}, "", "")), Catch::Contains("<b>" + ratio + " ×</b>"));
    const auto json = parse_json(to_json(result));
    CHECK(json["final"].get<double>() / json["base"].get<double>() == Approx(result.total.ratio));
    for (std::size_t i = 0; i < entries.size(); ++i)
      CHECK(json["rungs"][i]["relative"].is_null() == !has_relative(entries[i]));
  }
}

TEST_CASE("a comparison that noise leaves open is named with a command that measures longer") {
  TuneResult result;
  const auto add = [&](const char* name, RatioInterval ratio, Verdict verdict) {
    LedgerEntry entry;
    entry.name = name;
    entry.ratio = ratio;
    entry.verdict = verdict;
    result.ledger.entries.push_back(entry);
  };
  add("plain settings", {}, Verdict::kBase);
  add("kept", {1.5, 1.1, 1.9, 8}, Verdict::kKept);
  add("no change", {1.0, 0.99, 1.01, 8}, Verdict::kReverted);
  add("slower", {0.7, 0.5, 0.9, 8}, Verdict::kReverted);
  result.over_defaults = {1.3, 1.1, 1.5, 8};
  result.total = {2, 1.5, 2.5, 8};
  CHECK(undecided(result).noisy.empty());
  std::vector<TuneResult> results{result};
  describe_noise(results, "unstarve tune photos --minutes 2", 2);
  CHECK(results[0].noise.empty());

  add("average", {1.0, 0.5, 2.0, 6}, Verdict::kReverted);  // of whole runs, whose length is not that of --minutes
  result.ledger.entries.back().by_accuracy = true;
  CHECK(undecided(result).noisy.empty());
  add("threads", {1.0, 0.9, 1.1, 8}, Verdict::kReverted);
  add("final", result.total, Verdict::kFinal);
  result.over_defaults = {1.0, 0.97, 1.06, 8};
  CHECK(undecided(result).noisy == std::vector<std::string>{"threads"});
  results = {result};
  describe_noise(results, "unstarve tune 'my photos' --minutes 2 --json", 2);
  // ln(1.1 / 0.9) / ln(1.05) = 4.11 widths with 8 pairs, 3.93 with 10; 3.93 squared times 2 minutes.
  CHECK(results[0].noise ==
        "the machine was too noisy to decide on threads; measure longer with: unstarve tune 'my photos' --json "
        "--minutes 31");
  // A ratio far from 1 has to exclude 1 only; two pairs become ten in five times the time.
  result.total = {2.76, 0.02, 345.04, 2};
  CHECK(undecided(result).times_longer == Approx(3.93 * 3.93).epsilon(0.01));
  result.ledger.entries.resize(5);
  CHECK(undecided(result).noisy == std::vector<std::string>{"the comparison with the plain settings"});
  CHECK(undecided(result).times_longer == Approx(5));
  result.over_defaults = {1.0, 0.5, 2.0, 8};
  results = {result};
  describe_noise(results, "unstarve demo", 200);
  CHECK_THAT(results[0].noise, Catch::Contains("the comparison with the defaults") && Catch::EndsWith("--minutes 200"));
  // Steps that were not measured are named too, with the time that they need.
  result.over_defaults = {};
  result.total = {2, 1.5, 2.5, 8};
  result.ledger.entries.resize(1);
  add("uint8", {}, Verdict::kUndecided);
  result.times_needed = 5.5;
  results = {result};
  describe_noise(results, "unstarve tune photos", 3);
  CHECK(results[0].noise ==
        "the time was too short to measure uint8; measure longer with: unstarve tune photos --minutes 17");
}

}  // namespace
}  // namespace unstarve
