#include "unstarve/core/json.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace unstarve {
namespace {

TEST_CASE("an ordered value keeps the order of keys, another one sorts them") {
  CHECK(json_text(parse_ordered_json(R"({"b": 1, "a": [2.5, null]})")) == R"({"b":1,"a":[2.5,null]})");
  CHECK(json_text(parse_json(R"({"b": 1, "a": [2.5, null]})")) == R"({"a":[2.5,null],"b":1})");
  CHECK(json_text(parse_ordered_json("[1]"), 1) == "[\n 1\n]");
}

TEST_CASE("text that is not JSON") {
  for (const char* text : {"", "{", "[1,]", "nul", "{\"a\" 1}", "1 2"}) {
    CHECK_THROWS_AS(parse_json(text), nlohmann::json::parse_error);
    CHECK_THROWS_AS(parse_ordered_json(text), nlohmann::json::parse_error);
    CHECK(try_parse_json(text).is_discarded());
    CHECK(try_parse_ordered_json(text).is_discarded());
  }
  CHECK(try_parse_json(" 7 ") == 7);
  CHECK(try_parse_ordered_json("{}").is_object());
}

TEST_CASE("names that are not UTF-8 are written with replacement characters") {
  CHECK(json_text(nlohmann::json("a\xff.jpg")) == "\"a\xef\xbf\xbd.jpg\"");
  CHECK(json_text(nlohmann::ordered_json("a\xff.jpg")) == "\"a\xef\xbf\xbd.jpg\"");
}

}  // namespace
}  // namespace unstarve
