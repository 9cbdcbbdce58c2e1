#include "unstarve/observe/flame.h"
#include "unstarve/core/json.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace unstarve {
namespace {

TEST_CASE("nodes of the same function are joined and small ones removed", "[report]") {
  FlameGraph graph{"main thread",
                   {"all",
                    "",
                    1,
                    {{"f", "a.py:1", 0.4, {{"g", "b.py:1", 0.4, {}}}},
                     {"e", "a.py:9", 0.001, {}},
                     {"f", "a.py:1", 0.2, {{"h", "b.py:2", 0.12, {}}, {"g", "b.py:1", 0.08, {}}}},
                     {"f", "a.py:2", 0.3, {}}}}};
  simplify(graph.root, 0.01);
  REQUIRE(graph.root.children.size() == 2);
  const FlameNode& first = graph.root.children[0];
  CHECK(first.detail == "a.py:1");
  CHECK(first.share == Approx(0.6));
  REQUIRE(first.children.size() == 2);
  CHECK(first.children[0].name == "g");
  CHECK(first.children[0].share == Approx(0.48));
  CHECK(in_words(graph) == "Functions with the most self time: g 48 %, f 30 %, h 12 %, all 10 %.");
  CHECK(island_of(graph)["root"][3][1] == parse_json(R"(["f", "a.py:2", 0.3, []])"));
}

}  // namespace
}  // namespace unstarve
