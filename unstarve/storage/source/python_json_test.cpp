#include "unstarve/storage/source/python_json.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace unstarve {
namespace {

TEST_CASE("the constants of Python's json are null outside of strings") {
  const nlohmann::json value =
      try_parse_python_json(R"({"a": NaN, "b": [Infinity, -Infinity, 1], "NaN": "say \"NaN\" -Infinity"})");
  CHECK(value == nlohmann::json{{"a", nullptr}, {"b", {nullptr, nullptr, 1}}, {"NaN", "say \"NaN\" -Infinity"}});
  CHECK(try_parse_python_json("[1]") == nlohmann::json{1});
  for (const char* const text : {"", "{", "[NaN", "NaNNaN", "[xNaN]", "\"NaN", "\"NaN\\"}) {
    INFO(text);
    CHECK(try_parse_python_json(text).is_discarded());
  }
}

}  // namespace
}  // namespace unstarve
