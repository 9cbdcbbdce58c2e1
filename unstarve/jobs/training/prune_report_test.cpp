#include "unstarve/jobs/training/prune_report.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace unstarve {
namespace {

PruneResult example() {
  return {{{"a.weight", 1000, 500}, {"b.weight", 3000, 1500}}, {{"conv1.weight", "first convolution"}}, 2048, 1536};
}

}  // namespace

TEST_CASE("the text has the sparsity of all pruned layers, the dense ones and the sizes") {
  PruneSettings settings{.sparsity = 0.5};
  const std::string text = to_text(example(), settings);
  CHECK_THAT(text, Catch::StartsWith("pruned    50.00 % of 4000 weights of 2 layers; dense: conv1.weight (first "
                                     "convolution)\nsize      float32 2.05 KB, zip 1.54 KB\n"));
  CHECK_THAT(text, Catch::Contains("common engines do not compute faster"));
  settings.pattern = "2:4";
  CHECK_THAT(to_text(example(), settings),
             Catch::Contains("of 2 layers, pattern 2:4;") && Catch::Contains("only engines for this pattern"));
}

TEST_CASE("the text lists four dense layers and counts the others") {
  PruneResult result = example();
  for (int i = 0; i < 5; ++i) result.dense.push_back({"d" + std::to_string(i), "depthwise convolution"});
  const std::string text = to_text(result, {.sparsity = 0.5});
  CHECK_THAT(text,
             Catch::Contains("d2 (depthwise convolution) and 2 more, listed by --json") && !Catch::Contains("d3"));
}

TEST_CASE("the JSON has every layer") {
  const auto json = to_json(example(), {.sparsity = 0.6});
  CHECK(json["sparsity"] == 0.5);
  CHECK(json["target"] == 0.6);
  CHECK(json["pattern"].is_null());
  CHECK(json["weights"] == 4000);
  CHECK(json["zeros"] == 2000);
  CHECK(json["sizes"]["zip_bytes"] == 1536);
  CHECK(json["layers"][1] ==
        nlohmann::ordered_json({{"name", "b.weight"}, {"weights", 3000}, {"zeros", 1500}, {"sparsity", 0.5}}));
  CHECK(json["dense"][0]["reason"] == "first convolution");
  const auto pattern = to_json(example(), {.pattern = "1:4"});
  CHECK(pattern["pattern"] == "1:4");
  CHECK(pattern["target"] == 0.75);
}

TEST_CASE("the section of the report has the layers, the dense ones with their reason") {
  const CurveSection section = section_of(example(), {.sparsity = 0.5});
  CHECK(section.verdict == "2000 of 4000 weights of 2 layers are zero");
  CHECK(section.tiles.at(0).value == "50.0 %");
  CHECK(section.tiles.at(2).value == "1.54 KB");
  const auto& rows = section.tables.at(0).rows;
  CHECK(rows.at(1) == std::vector<std::string>{"b.weight", "3000", "1500", "50.0 %"});
  CHECK(rows.at(2) == std::vector<std::string>{"conv1.weight", "", "", "dense: first convolution"});
  CHECK_THAT(section_of(example(), {.pattern = "2:4"}).notes.at(0), Catch::Contains("only engines for this pattern"));
}

TEST_CASE("the section of removed channels has what remains, and why others stay") {
  PruneResult result = example();
  result.channels = {{{"a.weight", 64, 32}, {"fc.weight", 10, 10, "output of the network"}}, 2000, 500, 100, 30};
  const CurveSection section = section_of(result, {.pattern = "channels"});
  CHECK(section.tiles.at(0).value == "25.0 %");
  CHECK(section.tiles.at(1).value == "30.0 %");
  const auto& rows = section.tables.at(0).rows;
  CHECK(rows.at(0) == std::vector<std::string>{"a.weight", "64", "32", ""});
  CHECK(rows.at(1) == std::vector<std::string>{"fc.weight", "10", "10", "all remain: output of the network"});
}

}  // namespace unstarve
