#include "unstarve/pipeline/order/run_state.h"
#include "unstarve/core/json.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "unstarve/core/testing/error_message.h"

namespace unstarve {
namespace {

using Catch::Contains;
using Json = nlohmann::ordered_json;

std::shared_ptr<const SampleSet> all_samples(std::uint64_t records) { return std::make_shared<SampleSet>(records); }

PipelineSpec spec_of(int batch, int rank = 0, int world = 1) {
  PipelineSpec spec;
  spec.order.seed = 7;
  spec.order.rank = rank;
  spec.order.world = world;
  spec.batch = {batch, LastBatch::kKeep};
  return spec;
}

std::string error_message(const std::function<void()>& call) {
  return testing::error_message(call, ErrorKind::kArgument);
}

RunStart start_of(const RunState& run, const std::string& text) { return run.start(std::vector{text}); }

// `sources` with 90 samples each, with present and earlier weights.
struct Mixed {
  PipelineSpec spec = spec_of(10);
  std::shared_ptr<const SampleSet> set;

  Mixed(std::size_t sources, const std::function<double(std::size_t)>& weight,
        const std::vector<std::function<double(std::size_t)>>& earlier = {}) {
    std::vector<std::uint64_t> begin{0};
    std::vector<double> weights;
    for (std::size_t i = 0; i < sources; ++i) {
      begin.push_back(begin.back() + 90);
      weights.push_back(weight(i));
      SourceSpec& source = spec.mix.emplace_back();
      source.weight = weights.back();
      for (const auto& one : earlier) source.earlier_weights.push_back(one(i));
    }
    set = std::make_shared<SampleSet>(std::move(begin), std::move(weights));
  }
  [[nodiscard]] RunState run() const { return {spec, set}; }
};

double plain(std::size_t i) { return 0.1234567 + 0.0765432 * static_cast<double>(i * 7919 % 97); }
double other(std::size_t i) { return 1.0 / static_cast<double>(3 + i); }
double third(std::size_t i) { return static_cast<double>(1 + i % 3); }

// The first samples after the resume position.
std::vector<Sample> samples_from(const Mixed& mixed, const RunStart& start, std::size_t count) {
  const Order order(mixed.spec.order, mixed.spec.batch, OrderBasis{mixed.set, start.stretches});
  const Order rest = order.remaining(start.at.offset);
  const Order::Epoch epoch(rest, start.at.epoch);
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < count; ++i) samples.push_back(epoch.sample_at(i));
  return samples;
}

TEST_CASE("a state of other data is rejected, a state without data identity is accepted") {
  const std::uint64_t data = 0x1111'2222'3333'4444;
  const std::string text = RunState(spec_of(8), all_samples(100), data).text({{2, 0, 0, {}}, 3, {}}, {});
  CHECK_THAT(text, Contains(R"("data":"1111222233334444")"));
  CHECK(start_of(RunState(spec_of(5), all_samples(100), data), text).at == EpochPosition{2, 0, 3, {}});
  const auto rejected = [](std::uint64_t here, const std::string& state) {
    return error_message([&] { (void)start_of(RunState(spec_of(8), all_samples(100), here), state); });
  };
  CHECK_THAT(rejected(0x1111'2222'3333'5555, text), Contains("differ in: names or order of shards and records;"));
  CHECK_THAT(rejected(0x1111'0000'3333'4444, text), Contains("differ in: class names;"));
  std::string broken = text;
  broken.replace(broken.find("111122"), 2, "zz");
  CHECK_THAT(rejected(data, broken), Contains("expected 16 hexadecimal digits"));
  const std::string earlier = RunState(spec_of(8), all_samples(100)).text({{2, 0, 0, {}}, 3, {}}, {});
  CHECK(start_of(RunState(spec_of(8), all_samples(100), data), earlier).at == EpochPosition{2, 0, 3, {}});
}

}  // namespace

TEST_CASE("a state is a few numbers from which any ranks and batch size can resume") {
  const RunState run(spec_of(8, 1, 2), all_samples(100));
  const std::string text = run.text({{3, 0, 0, {}}, 24, {}}, {});
  CHECK(text == R"({"version":1,"epoch":3,"samples":48,"seed":7,"shuffle":true,"dataset":100})");
  CHECK(start_of(RunState(spec_of(5), all_samples(100)), text).at == EpochPosition{3, 0, 48, {}});
  CHECK(start_of(RunState(spec_of(60), all_samples(100)), text).at == EpochPosition{3, 0, 48, {}});
  PipelineSpec dropping = spec_of(60);
  dropping.batch.last = LastBatch::kDrop;  // 52 samples are left of the epoch
  CHECK(start_of(RunState(dropping, all_samples(100)), text).at == EpochPosition{4, 0, 0, {}});
  CHECK(run.text({{3, 0, 48, {}}, 32, {}}, {}) == run.text({{4, 0, 0, {}}, 0, {}}, {}));  // filled up to 56
}

TEST_CASE("gaps of relaxed order are stored as bits, and resuming combines the states of all ranks") {
  PipelineSpec relaxed = spec_of(4);
  relaxed.execution.order = ExecutionOrder::kRelaxed;
  const RunState single(relaxed, all_samples(40));
  const std::vector<bool> used{false, true, true};
  const std::string text = single.text({{1, 0, 0, {}}, 9, used}, {});
  CHECK(parse_ordered_json(text)["window"] == "Bg==");
  CHECK(start_of(single, text).at == EpochPosition{1, 0, 9, used});

  std::vector<std::string> texts;
  for (const int rank : {1, 0}) {
    relaxed.order.rank = rank;
    relaxed.order.world = 2;
    texts.push_back(RunState(relaxed, all_samples(40)).text({{1, 0, 0, {}}, 6, {}}, {}));
  }
  // Six samples per rank in batches of four: positions 0 to 7, then 8, 9, 12 and 13 of the epoch.
  CHECK(single.start(texts).at == EpochPosition{1, 0, 10, {false, false, true, true}});
  CHECK_THAT(error_message([&] { (void)start_of(single, texts[0]); }),
             Contains("of ranks [1]; expected a list of the states of all 2 ranks"));
}

TEST_CASE("a damaged or foreign state is rejected") {
  const RunState run(spec_of(8), all_samples(100));
  const std::string text = run.text({{3, 0, 0, {}}, 24, {}}, {});
  const auto error_of = [&](const auto& change) {
    Json state = parse_ordered_json(text);
    change(state);
    return error_message([&] { (void)start_of(run, json_text(state)); });
  };
  CHECK_THAT(error_of([](Json& s) { s["version"] = 2; }), Contains("version 2; expected 1"));
  CHECK_THAT(error_of([](Json& s) { s.erase("version"); }),
             Catch::Equals("state: found no version; expected the result of state_dict()"));
  CHECK_THAT(error_of([](Json& s) { s["epoch"] = -1; }), Contains("epoch: found -1; expected 0 to 2147483647"));
  CHECK_THAT(error_of([](Json& s) { s["epoch"] = 1.5; }), Contains("epoch: found 1.5; expected a whole number"));
  CHECK_THAT(error_of([](Json& s) { s.erase("samples"); }),
             Contains("samples: found nothing; expected a whole number"));
  CHECK_THAT(error_of([](Json& s) { s["samples"] = 101; }), Contains("samples: found 101; expected 0 to 100"));
  CHECK_THAT(error_of([](Json& s) { s["seed"] = 8; }), Contains("seed 8, but this loader has 7"));
  CHECK_THAT(error_of([](Json& s) { s["dataset"] = 99; }),
             Contains("found a state of other data, of 99 samples; expected this data, of 100"));
  CHECK_THAT(error_of([](Json& s) { s["order"] = 1; }), Contains("order: found 1"));
  CHECK_THAT(error_of([](Json& s) { s["order"]["window"] = 9; }), Contains("window 9, but this loader has 0"));
  CHECK_THAT(error_of([](Json& s) { s["order"]["set"] = "12"; }), Contains("other selected samples"));
  CHECK_THAT(error_of([](Json& s) { s["window"] = "?"; }), Contains("window: found \"?\"; expected bits in base64"));
  CHECK_THAT(error_of([](Json& s) { s["window"] = std::string(16, '/'); }), Contains("found 96 bits after 24 samples"));
  CHECK_THAT(error_of([](Json& s) { s["rank"] = 0; }), Contains("world: found nothing"));
  CHECK_THAT(error_of([](Json& s) { s = Json::array(); }), Contains("found []; expected the JSON object"));
  CHECK_THAT(error_message([&] { (void)run.start({}); }), Contains("empty list"));
  CHECK_THAT(error_message([&] { (void)start_of(run, "{"); }), Contains("found {; expected"));
}

TEST_CASE("the state of a mixture is under 1 KB for any number of sources, and resumes exactly") {
  for (const std::size_t sources : {2U, 8U, 9U, 48U, 500U}) {
    INFO(sources);
    const Mixed mixed(sources, plain);
    const RunState run = mixed.run();
    for (const std::uint32_t epoch : {0U, 5U, 2'000'000'000U}) {
      const std::string text = run.text({{epoch, 0, 0, {}}, 40, {}}, run.first_stretches());
      CHECK(text.size() < 1024);
      const RunStart start = start_of(mixed.run(), text);
      CHECK(start.at == EpochPosition{epoch, 0, 40, {}});
      CHECK(start.stretches == run.first_stretches());
    }
  }
}

TEST_CASE("weights can change at a resume with any number of sources") {
  for (const std::size_t sources : {2U, 48U, 500U}) {
    INFO(sources);
    const Mixed before(sources, plain), after(sources, other, {plain}), last(sources, third, {other, plain});
    const std::string text = before.run().text({{2, 0, 0, {}}, 30, {}}, before.run().first_stretches());
    const RunStart changed = start_of(after.run(), text);
    REQUIRE(changed.stretches.size() == 2);
    const MixtureStretch& now = changed.stretches.back();
    CHECK(now.weights == after.set->weights());
    CHECK(std::accumulate(now.given.begin(), now.given.end(), std::uint64_t{0}) == now.from);
    // A state after the change contains the counts of drawn samples, also after a second change.
    const std::uint64_t length = after.run().length();
    const auto behind = static_cast<std::uint32_t>(now.from / length + 1);
    const std::string second = after.run().text({{behind, 0, 0, {}}, 20, {}}, changed.stretches);
    CHECK(second.size() < 1024);
    const RunStart same = start_of(after.run(), second);
    CHECK(same.stretches.back() == now);
    CHECK(samples_from(after, same, 50) == samples_from(after, {{behind, 0, 20, {}}, changed.stretches, 0}, 50));
    const RunStart again = start_of(last.run(), second);
    const MixtureStretch& third_now = again.stretches.back();
    CHECK(third_now.weights == last.set->weights());
    CHECK(std::accumulate(third_now.given.begin(), third_now.given.end(), std::uint64_t{0}) == third_now.from);
    CHECK(last.run().text({{behind + 9, 0, 0, {}}, 20, {}}, again.stretches).size() < 1024);
  }
}

TEST_CASE("a state of many sources requires the earlier weights of its digest") {
  const Mixed few(8, plain), few_after(8, other), many(9, plain), many_after(9, other);
  const auto text_of = [](const Mixed& mixed) {
    return mixed.run().text({{1, 0, 0, {}}, 30, {}}, mixed.run().first_stretches());
  };
  CHECK(start_of(few_after.run(), text_of(few)).stretches.size() == 2);
  CHECK_THAT(error_message([&] { (void)start_of(many_after.run(), text_of(many)); }),
             Contains("other weights from its sample 0 on") && Contains("earlier_weights"));
  // A state with full weights is accepted for many sources, too.
  Json old = parse_ordered_json(text_of(many));
  old["mix"] = Json::array({Json::array({0, std::vector<int>(9), many.set->weights()})});
  CHECK(start_of(many_after.run(), json_text(old)).stretches ==
        start_of(Mixed(9, other, {plain}).run(), text_of(many)).stretches);
}

TEST_CASE("a damaged mixture in a state is rejected") {
  const Mixed few(2, plain), many(9, plain, {other});
  const auto error_of = [](const Mixed& mixed, const Json& mix) {
    Json state = parse_ordered_json(mixed.run().text({{1, 0, 0, {}}, 30, {}}, mixed.run().first_stretches()));
    state["mix"] = mix;
    return error_message([&] { (void)start_of(mixed.run(), json_text(state)); });
  };
  for (const char* const mix :
       {"null", "[]", "7", "[3]", "[[0]]", "[[0, 1, 2, 3]]", "[[0, [0, 0], [1, null]]]", "[[0, [0, -1], [1, 1]]]",
        "[[0, 5, [1, 1]]]", "[[-1, [0, 0], [1, 1]]]", "[[0, [0], [1]]]", "[[0, [0, 0], [-1, 1]]]"}) {
    INFO(mix);
    CHECK_THAT(error_of(few, parse_ordered_json(mix)),
               Contains("state: mix") || Contains("weight") || Contains("sources"));
  }
  const Json entry =
      parse_ordered_json(many.run().text({{0, 0, 0, {}}, 0, {}}, many.run().first_stretches()))["mix"][0];
  CHECK_THAT(error_of(many, Json::array({Json::array({5, entry[1]})})), Contains("begins at sample 5; expected 0"));
  CHECK_THAT(error_of(many, Json::array({entry, Json::array({1, entry[1]})})), Contains("expected a multiple of"));
  CHECK_THAT(error_of(many, Json::array({Json::array({0, 5})})), Contains("expected the digest"));
}

}  // namespace unstarve
