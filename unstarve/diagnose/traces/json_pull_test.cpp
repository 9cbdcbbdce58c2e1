#include "unstarve/diagnose/traces/json_pull.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

using Catch::Contains;

// Delivers `text` in pieces of `bytes`.
JsonPull pull_in_pieces(std::string text, std::size_t bytes) {
  return JsonPull(
      [text = std::move(text), bytes, at = std::size_t{0}]() mutable {
        const std::size_t begin = std::min(at, text.size()), count = std::min(bytes, text.size() - begin);
        at = begin + count;
        return std::span(reinterpret_cast<const std::uint8_t*>(text.data()) + begin, count);
      },
      "x.json");
}

std::string error_in(const std::string& text) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}}) {
    JsonPull json = pull_in_pieces(text, bytes);
    try {
      json.enter('{');
      while (json.next_key()) {
        json.enter('[');
        while (json.next_element()) (void)json.text();
      }
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kInput);
      if (bytes > 1) return error.what();
      continue;
    }
    FAIL("no error in " << text);
  }
  return "";
}

TEST_CASE("values are the same for any size of the pieces") {
  const std::string text = R"( {"a" : "x\"y\\z\u00e9\n", "skip":[{"k":"]}"},"\"",[1]], "n":-12.5e1 ,"s":"42",
      "list":[ 1,2 , "three" ], "empty":[], "none":null, "nan":NaN, "path":"C:\Users"} )";
  for (std::size_t bytes = 1; bytes < 12; ++bytes) {
    JsonPull json = pull_in_pieces(text, bytes);
    json.enter('{');
    std::vector<std::string> list;
    std::string a, path;
    double n = 0, s = 0, nan = 1, none = 1;
    while (json.next_key()) {
      const std::string key = json.key();
      if (key == "a") {
        a = json.text();
      } else if (key == "n") {
        n = json.number();
      } else if (key == "s") {
        s = json.number();
      } else if (key == "nan") {
        nan = json.number();
      } else if (key == "none") {
        none = json.number();
      } else if (key == "path") {
        path = json.text();
      } else if (key == "list" || key == "empty") {
        json.enter('[');
        while (json.next_element()) list.emplace_back(json.scalar());
      } else {
        CHECK(key == "skip");
        json.skip();
      }
    }
    CHECK(a == "x\"y\\z\xc3\xa9\n");
    CHECK(n == -125);
    CHECK(s == 42);
    CHECK(nan == 0);
    CHECK(none == 0);
    CHECK(path == "C:\\Users");
    CHECK(list == std::vector<std::string>{"1", "2", "three"});
    CHECK(json.peek() == '\0');
  }
}

TEST_CASE("times are exact to the nanosecond") {
  JsonPull json =
      pull_in_pieces("[1700000000123456.789, 5, 0.0019, -1.5, 1e3, \"7.25\", 1e300, 12345678901234567890]", 3);
  json.enter('[');
  std::vector<std::int64_t> times;
  std::string found;
  while (json.next_element()) times.push_back(json.microseconds_as_ns(found).value());
  CHECK(found.empty());
  CHECK(times == std::vector<std::int64_t>{1'700'000'000'123'456'789, 5000, 1, -1500, 1'000'000, 7250,
                                           9'000'000'000'000'000'000, 9'000'000'000'000'000'000});
}

TEST_CASE("values that are no times") {
  JsonPull json = pull_in_pieces(R"(["abc", "7x", NaN, null, [1]])", 3);
  json.enter('[');
  std::vector<std::string> all;
  while (json.next_element()) {
    std::string found;
    CHECK_FALSE(json.microseconds_as_ns(found));
    all.push_back(found);
  }
  CHECK(all == std::vector<std::string>{"abc", "7x", "NaN", "null", "no number"});
}

TEST_CASE("errors name the byte, and what was expected") {
  CHECK_THAT(error_in(R"({"a":["b")"), Contains("byte 9: the file ends; expected ',' or ']'. The trace is truncated"));
  CHECK_THAT(error_in(R"({"a":["b)"), Contains("the file ends; expected the end of a string"));
  CHECK_THAT(error_in(R"({"a":["b" "c"]})"), Contains("byte 10: found byte 0x22; expected ',' or ']'"));
  CHECK_THAT(error_in(R"({"a" 1})"), Contains("expected ':'"));
  CHECK_THAT(error_in(R"({"a":{}})"), Contains("expected an array"));
  CHECK_THAT(error_in(R"({"a":["\u12x4"]})"), Contains("four hexadecimal digits"));
  CHECK_THAT(error_in(""), Contains("expected an object"));
}

TEST_CASE("deep nesting is an error, not a stack overflow") {
  JsonPull json = pull_in_pieces(std::string(100'000, '['), 4096);
  CHECK_THROWS_WITH(
      [&] {
        for (;;) {
          json.enter('[');
          (void)json.next_element();
        }
      }(),
      Contains("at most 256 nested values"));
  JsonPull skipped = pull_in_pieces(std::string(100'000, '[') + std::string(100'000, ']'), 4096);
  skipped.skip();
  CHECK(skipped.peek() == '\0');
}

}  // namespace
}  // namespace unstarve
