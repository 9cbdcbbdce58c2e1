#include "unstarve/storage/dataset/quarantine_entry.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/json.h"

namespace unstarve {

TEST_CASE("a quarantine entry round-trips through JSON, and malformed entries are rejected") {
  for (const RecordLocation& location :
       std::vector<RecordLocation>{{.file = "a b.jpg"},
                                   {.file = "x.tar", .member = "m", .number = 5, .offset = 9},
                                   {.file = "x.parquet", .number = 0}}) {
    const QuarantineEntry entry = quarantine_entry(location, "why");
    CHECK(quarantine_entry_from_json(to_json(entry), "here") == entry);
  }
  CHECK(location_text(quarantine_entry({.file = "x.tar", .member = "m", .number = 5, .offset = 9}, "")) ==
        "x.tar at offset 9");
  CHECK(location_text(quarantine_entry({.file = "x.parquet", .number = 70}, "")) == "x.parquet record 70");
  CHECK(location_text(quarantine_entry({.file = "1.jpg", .number = 70, .list = "l.csv"}, "")) == "1.jpg");

  const auto rejected = [](const char* json, const char* what) {
    CHECK_THROWS_WITH(quarantine_entry_from_json(parse_ordered_json(json), "list: line 2"),
                      Catch::StartsWith("list: line 2: ") && Catch::Contains(what) && Catch::Contains("expected"));
  };
  rejected("[]", "not a JSON object");
  rejected(R"({"offset":1})", "\"file\" is missing");
  rejected(R"({"file":1})", "\"file\" is missing or not a string");
  rejected(R"({"file":"a","offset":-1})", "\"offset\" is not a whole number");
  rejected(R"({"file":"a","record":"1"})", "\"record\" is not a whole number");
  rejected(R"({"file":"a","offset":1,"record":1})", "both");
  rejected(R"({"file":"a","reason":1})", "\"reason\"");
}

}  // namespace unstarve
