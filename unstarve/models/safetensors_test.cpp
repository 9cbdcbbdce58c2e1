#include "unstarve/models/safetensors.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/models/testing/safetensors_file.h"

namespace unstarve {
namespace {

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string with_header(const std::string& json, const std::string& data = "") {
  std::string file;
  for (std::size_t i = 0; i < 8; ++i) file.push_back(static_cast<char>((json.size() >> (8 * i)) & 0xff));
  return file + json + data;
}

std::string error_message(const std::string& file) {
  try {
    (void)parse_safetensors(bytes_of(file), "x.safetensors");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kInput);
    return error.what();
  }
  return "accepted";
}

const std::string kTwo = R"({"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
                         R"("b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})";

}  // namespace

TEST_CASE("safetensors written are read back with names, shapes, bytes and metadata") {
  const std::vector<float> a{1, 2, 3, 4, 5, 6};
  const std::int64_t b = 7;
  const std::vector<TensorToStore> tensors{
      {"layer.weight", "F32", {2, 3}, {reinterpret_cast<const std::uint8_t*>(a.data()), 24}},
      {"empty", "I64", {0, 4}, {}},
      {"count", "I64", {}, {reinterpret_cast<const std::uint8_t*>(&b), 8}}};
  const std::string file = safetensors_file(tensors, {{"step", "12"}});

  const SafetensorsHeader header = parse_safetensors(bytes_of(file), "x");
  REQUIRE(header.tensors.size() == 3);
  CHECK(header.metadata.at("step") == "12");
  const StoredTensor* weight = header.find("layer.weight");
  REQUIRE(weight != nullptr);
  CHECK(weight->shape == std::vector<std::int64_t>{2, 3});
  CHECK(weight->begin % 8 == 0);
  CHECK(file.substr(weight->begin, 24) == std::string(reinterpret_cast<const char*>(a.data()), 24));
  CHECK(header.find("count")->shape.empty());
  CHECK(header.find("absent") == nullptr);
}

TEST_CASE("a changed byte of the arrays is found by the checksum; files without one are accepted") {
  const std::vector<std::uint8_t> a{1, 2, 3, 4};
  std::string file = safetensors_file(std::vector<TensorToStore>{{"a", "U8", {4}, a}, {"b", "U8", {2}, {a.data(), 2}}});
  const auto check = [](const std::string& text) {
    check_checksum(parse_safetensors(bytes_of(text), "x"), bytes_of(text), "x.safetensors");
  };
  CHECK_NOTHROW(check(file));
  for (std::size_t i = file.size() - 6; i < file.size(); ++i) {
    std::string damaged = file;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    CHECK_THROWS_WITH(check(damaged), Catch::Contains("x.safetensors") && Catch::Contains("damaged: the checksum"));
  }
  CHECK_NOTHROW(check(with_header(kTwo, std::string(11, 'x'))));
}

TEST_CASE("changed metadata of this project are found by their checksum; those of others are not covered") {
  const std::string file = safetensors_file({}, {{"unstarve.step", "12"}, {"format", "pt"}});
  REQUIRE(error_message(file) == "accepted");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = file;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const auto& [from, to] : std::map<std::string, std::string>{
           {R"("12")", R"("13")"}, {"unstarve.step", "unstarve.stop"}, {R"(32":"00000000)", R"(32":"00000001)"}})
    CHECK_THAT(error_message(changed(from, to)),
               Catch::Contains("x.safetensors: damaged: the checksum of the metadata is"));
  CHECK(error_message(changed(R"("pt")", R"("np")")) == "accepted");
}

TEST_CASE("safetensors of an empty model are valid") {
  CHECK(parse_safetensors(bytes_of(safetensors_file({})), "x").tensors.empty());
}

TEST_CASE("the order of safetensors data may differ from the order of names") {
  const auto header =
      parse_safetensors(bytes_of(with_header(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[4,5]},)"
                                             R"("a":{"dtype":"I32","shape":[],"data_offsets":[0,4]}}   )",
                                             "12345")),
                        "x");
  CHECK(header.tensors[0].name == "a");
  CHECK(header.tensors[1].end - header.tensors[1].begin == 1);
}

TEST_CASE("inconsistent safetensors are rejected with the reason") {
  using Catch::Contains;
  CHECK_THAT(error_message(""), Contains("too short"));
  CHECK_THAT(error_message(std::string(8, '\xff') + "{}"), Contains("expected a safetensors file"));
  CHECK_THAT(error_message(with_header("[1]      ")), Contains("does not start with"));
  CHECK_THAT(error_message(with_header("{\"a\":")), Contains("not valid JSON"));
  CHECK_THAT(error_message(with_header("{}", "1")), Contains("1 bytes follow the last tensor"));
  CHECK_THAT(error_message(with_header(kTwo, "0123456789")), Contains("\"b\" ends 1 bytes after the end"));
  CHECK(error_message(with_header(kTwo, "01234567890")) == "accepted");
  CHECK_THAT(error_message(with_header(R"({"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", "1234")),
             Contains("unknown dtype \"F33\""));
  CHECK_THAT(error_message(with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234")),
             Contains("expected [0, 8)"));
  CHECK_THAT(error_message(with_header(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})", "1234")),
             Contains("expected [0, 2)"));
  CHECK_THAT(
      error_message(with_header(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})")),
      Contains("impossible shape"));
  CHECK_THAT(error_message(with_header(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}})")),
             Contains("invalid header: the number -1 near"));
  CHECK_THAT(error_message(with_header(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                                       R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})")),
             Contains("invalid header: a duplicate name near"));
  CHECK_THAT(error_message(with_header(R"({"a":{"dtype":"U8","shape":[0]}})")), Contains("lacks one of"));
  CHECK_THAT(error_message(with_header(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0]}})")),
             Contains("lacks one of"));
  CHECK_THAT(error_message(with_header(R"({"__metadata__":{"a":1}})")), Contains("the number 1"));
  CHECK_THAT(error_message(with_header(R"({"a":)" + std::string(1000, '{') + "}")), Contains("not valid JSON"));
}

TEST_CASE("safetensors with a wrong size or a duplicate name are not written") {
  const std::uint8_t byte = 0;
  const TensorToStore wrong{"a", "F32", {1}, {&byte, 1}}, right{"a", "U8", {1}, {&byte, 1}};
  CHECK_THROWS_AS(format_safetensors_header(std::vector{wrong}, {}), Error);
  CHECK_THROWS_AS(format_safetensors_header(std::vector{right, right}, {}), Error);
}

TEST_CASE("a safetensors file that cannot be written is an io error that names the path") {
  try {
    write_safetensors("/nonexistent-folder/x.safetensors", {}, {});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kIo);
    CHECK_THAT(error.what(), Catch::Contains("/nonexistent-folder/x.safetensors"));
  }
}

}  // namespace unstarve
