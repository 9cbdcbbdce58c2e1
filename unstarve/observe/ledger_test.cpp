#include "unstarve/observe/ledger.h"
#include "unstarve/core/json.h"

#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "unstarve/observe/format.h"

using namespace unstarve;

namespace {

LedgerEntry entry(const std::string& name, Verdict verdict, double rate, RatioInterval ratio) {
  LedgerEntry e;
  e.name = name;
  e.verdict = verdict;
  e.batch = 32;
  e.memory_bytes = std::size_t{1} << 30;
  e.step_ms = 32e3 / rate;
  e.samples_per_s = rate;
  e.ratio = ratio;
  return e;
}

Ledger sample() {
  Ledger ledger;
  ledger.title = "training on cpu";
  ledger.entries.push_back(entry("plain settings", Verdict::kBase, 273, {}));
  ledger.entries.push_back(entry("mixed precision bf16", Verdict::kKept, 395, {1.44, 1.42, 1.46, 8}));
  ledger.entries.back().affects_learning = true;
  ledger.entries.back().loss_before = 2.3012;
  ledger.entries.back().loss_after = 2.3025;
  ledger.entries.push_back(entry("channels-last", Verdict::kReverted, 386, {0.98, 0.96, 1.0, 8}));
  ledger.entries.push_back(entry("pinned memory", Verdict::kNotApplicable, 0, {}));
  ledger.entries.back().reason = "the device is the host itself, so there is no copy that page-locking could speed up";
  ledger.entries.push_back(entry("reduced decoding", Verdict::kUndecided, 500, {1.2, 0.9, 1.6, 3}));
  ledger.entries.back().approximate = true;
  return ledger;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) all.push_back(line);
  return all;
}

}  // namespace

TEST_CASE("a change is kept only if its whole interval is above 1", "[ledger]") {
  CHECK(judge({1.05, 1.001, 1.1, 6}) == Verdict::kKept);
  CHECK(judge({1.05, 1.0, 1.1, 6}) == Verdict::kReverted);
  CHECK(judge({1.05, 0.99, 1.1, 60}) == Verdict::kReverted);
  CHECK(judge({0.5, 0.4, 0.6, 6}) == Verdict::kReverted);
}

TEST_CASE("a change with fewer than six pairs is undecided, whatever the ratio", "[ledger]") {
  CHECK(judge({3, 2.9, 3.1, 5}) == Verdict::kUndecided);
  CHECK(judge({0.3, 0.2, 0.4, 5}) == Verdict::kUndecided);
  CHECK(judge({}) == Verdict::kUndecided);
}

TEST_CASE("a change with a NaN interval is reverted", "[ledger]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(judge({nan, nan, nan, 9}) == Verdict::kReverted);
}

TEST_CASE("the table shows all figures, marks and reasons", "[ledger]") {
  const std::string table = to_table(sample(), 200);
  const auto all = lines(table);
  REQUIRE(all.size() == 2 + 4 + 2 + 3);
  CHECK(all[0] == "training on cpu");
  CHECK(all[1].find("samples/s") != std::string::npos);
  CHECK(all[2].find("273") != std::string::npos);
  CHECK(all[2].find("100 %") != std::string::npos);
  CHECK(all[3].find("mixed precision bf16 *") == 0);
  CHECK(all[3].find("1.44 [1.42, 1.46]  kept") != std::string::npos);
  CHECK(all[4].find("reverted") != std::string::npos);
  CHECK(all[5].find("reduced decoding ~") == 0);
  CHECK(all[6] == "not applicable");
  CHECK(all[7].find("  pinned memory: the device is the host itself") == 0);
  CHECK(table.find("mean loss of the first steps 2.3012 without, 2.3025 with this step") != std::string::npos);
  CHECK(table.find("~ approximate") != std::string::npos);
}

TEST_CASE("the table never exceeds its width; long reasons move below it", "[ledger]") {
  for (const int width : {60, 80, 100, 120}) {
    CAPTURE(width);
    for (const std::string& line : lines(to_table(sample(), width))) CHECK(text_width(line) <= std::size_t(width));
  }
  const auto all = lines(to_table(sample(), 110));
  CHECK(all[3].find("1.44 [1.42, 1.46]  kept") != std::string::npos);
  CHECK(all[6] == "not applicable");
  CHECK(all[7].find("the device is the host itself, so there is no copy") != std::string::npos);
}

TEST_CASE("a long reason of a measured step moves below the table", "[ledger]") {
  Ledger ledger = sample();
  ledger.entries[4].reason = "6 pairs take about 13 s, but only 11 s are left; increase --minutes";
  const auto all = lines(to_table(ledger, 110));
  CHECK(all[5].ends_with("  undecided"));
  CHECK(all[6] == "  reduced decoding ~: 6 pairs take about 13 s, but only 11 s are left; increase --minutes");
  CHECK(all[7] == "not applicable");
}

TEST_CASE("a reason below the table is shown once for all its steps", "[ledger]") {
  Ledger ledger = sample();
  LedgerEntry other = ledger.entries.at(3);
  other.name = "pinned memory";
  ledger.entries.insert(ledger.entries.begin() + 4, other);
  const std::string table = to_table(ledger, 110);
  CHECK(table.find(", pinned memory: the device is the host itself") != std::string::npos);
  CHECK(table.find("the device is the host") == table.rfind("the device is the host"));
}

TEST_CASE("predictions are shown next to the results and scored", "[ledger]") {
  Ledger ledger = sample();
  ledger.entries[1].predicted = {1.5, 1.45, 1.6};  // the result is 1.44 [1.42, 1.46]
  ledger.entries[2].predicted = {0, 1, 0.5};       // below the result
  const PredictionScore score = score_predictions(ledger);
  CHECK(score.gains == 1);
  CHECK(score.gains_agree == 1);
  CHECK(score.bounds == 1);
  CHECK(score.bounds_agree == 0);
  const std::string table = to_table(ledger, 200);
  CHECK(table.find("1.50  1.44 [1.42, 1.46]") != std::string::npos);
  CHECK(table.find("<= 0.50") != std::string::npos);
  CHECK(table.find("1 of 1 gains and 0 of 1 upper bounds agree") != std::string::npos);
  const auto json = parse_json(to_json(ledger));
  CHECK(json["rungs"][1]["predicted"] == nlohmann::json{{"gain", 1.5}, {"low", 1.45}, {"high", 1.6}});
  CHECK(json["rungs"][2]["predicted"]["gain"].is_null());
  CHECK(json["rungs"][0]["predicted"].is_null());
  ledger.entries[1].predicted = {1.5, 1.47, 1.6};
  CHECK(score_predictions(ledger).gains_agree == 0);
}

TEST_CASE("escape sequences in names are replaced", "[ledger]") {
  Ledger ledger = sample();
  ledger.entries[1].name = "evil\x1b[2Jname";
  CHECK(to_table(ledger).find('\x1b') == std::string::npos);
}

TEST_CASE("JSON contains base, final and one object per entry", "[ledger]") {
  const auto json = parse_json(to_json(sample()));
  CHECK(json["title"] == "training on cpu");
  CHECK(json["base"] == 273.0);
  CHECK(json["final"] == 395.0);  // the last entry that was kept, not the last one tried
  REQUIRE(json["rungs"].size() == 5);
  CHECK(json["rungs"][1]["status"] == "kept");
  CHECK(json["rungs"][1]["pairs"] == 8);
  CHECK(json["rungs"][1]["affects_learning"] == true);
  CHECK(json["rungs"][3]["status"] == "not applicable");
  CHECK(json["rungs"][4]["approximate"] == true);
  CHECK(json["rungs"][1]["low"] == 1.42);
  CHECK(json["rungs"][1]["high"] == 1.46);
  for (const int not_compared : {0, 3}) {
    CHECK(json["rungs"][not_compared]["low"].is_null());
    CHECK(json["rungs"][not_compared]["high"].is_null());
  }
}

TEST_CASE("JSON is valid for an open interval, an empty ledger and names that are not UTF-8", "[ledger]") {
  Ledger ledger;
  auto json = parse_json(to_json(ledger));
  CHECK(json["base"].is_null());
  CHECK(json["rungs"].empty());

  const double infinity = std::numeric_limits<double>::infinity();
  ledger.entries.push_back(entry("\xff\xfe", Verdict::kUndecided, 1, {1, 0, infinity, 1}));
  json = parse_json(to_json(ledger));
  CHECK(json["rungs"][0]["low"].is_null());
  CHECK(json["rungs"][0]["high"].is_null());
  CHECK(json["rungs"][0]["name"].is_string());
}
