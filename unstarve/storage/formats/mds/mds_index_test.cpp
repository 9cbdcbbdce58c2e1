#include "unstarve/storage/formats/mds/mds_index.h"

#include <catch2/catch.hpp>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/testing/byte_text.h"
#include "unstarve/storage/testing/fixtures_folder.h"

namespace unstarve {
namespace {

using testing::bytes_of, testing::error_message, testing::text_of;

std::string index_text(const std::string& shard) { return R"({"version": 2, "shards": [)" + shard + "]}"; }

std::string shard_text(const std::string& columns = R"("column_names": ["a"], "column_encodings": ["str"],
                                                       "column_sizes": [null])",
                       const std::string& basename = "shard.00000.mds") {
  return R"({"format": "mds", "samples": 1, "compression": null, "zip_data": null, "raw_data": {"basename": ")" +
         basename + R"(", "bytes": 9}, )" + columns + "}";
}

TEST_CASE("an index written by the streaming package is read") {
  const MdsIndex plain = parse_mds_index(testing::fixture_bytes("mds/index.json"));
  CHECK(plain.columns == std::vector<MdsColumn>{{"image", "jpeg", 0}, {"label", "int", 8}});
  REQUIRE(plain.shards.size() == 2);
  CHECK(plain.shards[0].raw.name == "shard.00000.mds");
  CHECK(plain.shards[0].compression.empty());
  CHECK(plain.shards[0].samples + plain.shards[1].samples == 5);

  const MdsIndex packed = parse_mds_index(testing::fixture_bytes("mds-zstd/index.json"));
  CHECK(packed.shards[0].compression == "zstd");
  CHECK(packed.shards[0].zip.name == "shard.00000.mds.zstd");
}

TEST_CASE("an index with another structure is rejected") {
  const auto why = [](const std::string& text) { return error_message([&] { return parse_mds_index(text); }); };
  CHECK(why(index_text(shard_text())) == "no error");
  CHECK(why("") == "not JSON");
  CHECK_THAT(why("[]"), Catch::Contains("'version' is missing"));
  CHECK_THAT(why(R"({"version": 1})"), Catch::Contains("format version 1"));
  CHECK_THAT(why(R"({"version": -2})"), Catch::Contains("not a non-negative integer"));
  CHECK_THAT(why(index_text("")), Catch::Contains("no shard"));
  CHECK_THAT(why(index_text("7")), Catch::Contains("missing"));
  CHECK_THAT(why(index_text(shard_text(R"("column_names": [], "column_encodings": [], "column_sizes": [])"))),
             Catch::Contains("not lists of equal length"));
  CHECK_THAT(why(index_text(shard_text(R"("column_names": ["a"], "column_encodings": [1], "column_sizes": [1])"))),
             Catch::Contains("column 0"));
  CHECK_THAT(why(index_text(shard_text(R"("column_names": ["a"], "column_encodings": ["b"],
                                          "column_sizes": [99999999999])"))),
             Catch::Contains("too large"));
  CHECK_THAT(why(index_text(shard_text(R"("column_names": ["a"], "column_encodings": ["str"],
                                          "column_sizes": [null])",
                                       "../x"))),
             Catch::Contains("leaves the folder"));
  CHECK_THAT(why(index_text(shard_text() + "," + shard_text(R"("column_names": ["b"], "column_encodings": ["str"],
                                                               "column_sizes": [null])"))),
             Catch::Contains("other columns"));
  const std::string whole = testing::fixture_bytes("mds-zstd/index.json");
  for (std::size_t length = 0; length < whole.size(); ++length) CHECK(why(whole.substr(0, length)) != "no error");
}

TEST_CASE("the columns of a sample are found, and any truncation is rejected") {
  const std::vector<MdsColumn> columns = {{"a", "str", 0}, {"b", "uint16", 2}, {"c", "bytes", 0}};
  std::string sample;
  append_little<std::uint32_t>(sample, 3);
  append_little<std::uint32_t>(sample, 5);
  sample += "one\x01\x02three";
  const auto value = [&](const std::string& text, std::size_t which) {
    return text_of(mds_value(bytes_of(text), columns, which));
  };
  CHECK(value(sample, 0) == "one");
  CHECK(value(sample, 1) == "\x01\x02");
  CHECK(value(sample, 2) == "three");
  for (std::size_t length = 0; length < sample.size(); ++length) {
    CHECK(error_message([&] { return value(sample.substr(0, length), 0); }) != "no error");
  }
  CHECK_THAT(error_message([&] { return value(sample + "x", 0); }), Catch::Contains("1 bytes follow the last column"));
  std::string wrong = sample;
  wrong.replace(0, 4, "\xff\xff\xff\xff");
  CHECK_THAT(error_message([&] { return value(wrong, 2); }), Catch::Contains("column 'a' declares 4294967295 bytes"));
}

TEST_CASE("integers of every encoding are read") {
  const auto number = [](const char* encoding, std::string_view bytes) {
    return mds_integer(encoding, bytes_of(bytes));
  };
  CHECK(number("int", std::string_view("\xfe\xff\xff\xff\xff\xff\xff\xff", 8)) == -2);
  CHECK(number("int8", "\xff") == -1);
  CHECK(number("uint8", "\xff") == 255);
  CHECK(number("uint16", "\x01\x02") == 513);
  CHECK(number("int32", std::string_view("\1\0\0\0", 4)) == 1);
  CHECK(number("str_int", "-17") == -17);
  CHECK_FALSE(is_mds_integer("float32"));
  CHECK_THAT(error_message([&] { return number("int", "abc"); }), Catch::Contains("of 3 bytes; expected 8"));
  CHECK_THAT(error_message([&] { return number("str_int", "1x"); }), Catch::Contains("not an integer"));
  CHECK_THAT(error_message([&] { return number("uint64", "\xff\xff\xff\xff\xff\xff\xff\xff"); }),
             Catch::Contains("too large"));
}

TEST_CASE("raw images are checked against their header") {
  std::string value;
  for (const std::uint32_t number : {2U, 1U, 3U}) append_little(value, number);
  value += "RGB123456";
  CHECK(text_of(parse_mds_pil(bytes_of(value)).pixels) == "123456");
  for (std::size_t length = 0; length < value.size(); ++length) {
    CHECK(error_message([&] { return parse_mds_pil(bytes_of(value.substr(0, length))); }) != "no error");
  }
  CHECK_THAT(error_message([&] { return parse_mds_pil(bytes_of(value + "7")); }),
             Catch::Contains("2 x 1 pixels with 7 bytes"));
  value.replace(12, 3, "LAB");
  CHECK_THAT(error_message([&] { return parse_mds_pil(bytes_of(value)); }), Catch::Contains("mode 'LAB'"));
}

}  // namespace
}  // namespace unstarve
