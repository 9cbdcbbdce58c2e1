#include "unstarve/storage/formats/tfrecord/tf_example.h"

#include <array>
#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/storage/testing/tfrecord_bytes.h"

namespace unstarve {
namespace {

using namespace unstarve::testing;

Feature find(const std::string& bytes, std::string_view name) {
  Feature feature;
  find_features(bytes_of(bytes), std::span(&name, 1), std::span(&feature, 1));
  return feature;
}

std::string text(std::optional<std::span<const std::uint8_t>> bytes) {
  return bytes ? std::string(bytes->begin(), bytes->end()) : "nothing";
}

// A map entry whose Feature has these bytes.
std::string entry(std::string_view name, std::string_view feature) {
  return field(1, field(1, name) + field(2, feature));
}

TEST_CASE("features are found by name") {
  const std::string bytes = example(bytes_feature("a", "one") + integer_feature("b", -5) + integer_feature("c", 1) +
                                    entry("d", "") + entry("e", field(2, field(1, "\0\0\x80\x3f"))));
  CHECK(text(find(bytes, "a").bytes()) == "one");
  CHECK_FALSE(find(bytes, "a").integer().has_value());
  CHECK(find(bytes, "b").integer() == -5);
  CHECK_FALSE(find(bytes, "b").bytes().has_value());
  CHECK(find(bytes, "d").kind == Feature::Kind::kEmpty);
  CHECK(find(bytes, "e").kind == Feature::Kind::kFloats);
  CHECK_FALSE(find(bytes, "f").present());
  CHECK_FALSE(find("", "a").present());
  CHECK(feature_names(bytes_of(bytes)) == "a, b, c, d, e");
}

TEST_CASE("packed and unpacked integers are read; lists may be empty") {
  const std::string one_by_one =
      example(entry("n", field(3, varint(1 << 3) + varint(300) + varint(1 << 3) + varint(7))));
  CHECK(find(one_by_one, "n").integer() == 300);
  const std::string packed = example(entry("n", field(3, field(1, varint(300) + varint(7)))));
  CHECK(find(packed, "n").integer() == 300);
  const std::string empty =
      example(entry("n", field(3, "")) + entry("m", field(3, field(1, ""))) + entry("b", field(1, "")));
  CHECK_FALSE(find(empty, "n").integer().has_value());
  CHECK_FALSE(find(empty, "m").integer().has_value());
  CHECK_FALSE(find(empty, "b").bytes().has_value());
  CHECK(find(empty, "n").kind == Feature::Kind::kIntegers);
}

TEST_CASE("the last of two equal keys counts; unknown fields are skipped") {
  CHECK(find(example(integer_feature("n", 1) + integer_feature("n", 2)), "n").integer() == 2);
  CHECK(find(example(integer_feature("n", 1)) + example(integer_feature("m", 3)), "n").integer() == 1);
  const std::string unknown = field(9, "x") + varint(8 << 3) + varint(1) + varint(7 << 3 | 1) + "12345678" +
                              varint(6 << 3 | 5) + "1234" + example(integer_feature("n", 4));
  CHECK(find(unknown, "n").integer() == 4);
}

TEST_CASE("an Example truncated or changed at any byte is never read beyond its end") {
  const std::string good = example(bytes_feature("image", "pixels") + integer_feature("label", 300));
  int rejected = 0;
  const auto read = [&](const std::string& bytes) {
    // Memory of exactly this size, so that a sanitizer detects a read beyond the end.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    const std::string_view view(exact.data(), exact.size());
    try {
      const std::array<std::string_view, 2> names = {"image", "label"};
      std::array<Feature, 2> features;
      find_features(bytes_of(view), names, features);
      for (const Feature& feature : features) {
        (void)feature.bytes();
        (void)feature.integer();
      }
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kInput);
      CHECK_THAT(error.what(), Catch::Contains("invalid tf.train.Example"));
      ++rejected;
    }
  };
  for (std::size_t cut = 1; cut < good.size(); ++cut) read(good.substr(0, cut));
  CHECK(rejected == static_cast<int>(good.size()) - 1);
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string bad = good;
      bad[at] = static_cast<char>(byte);
      read(bad);
    }
  }
  read(std::string(20, '\xff'));
}

TEST_CASE("errors of the wire format name problem and offset") {
  const auto message = [](const std::string& bytes) -> std::string {
    try {
      (void)find(bytes, "a");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(message(varint(1 << 3 | 2) + varint(100) + "short"),
             Catch::Contains("a field declares 100 bytes, the record contains 5"));
  CHECK_THAT(message(varint(1 << 3 | 3)), Catch::Contains("wire type 3 is unknown (at offset 1)"));
  CHECK_THAT(message(varint(2)), Catch::Contains("a field has no valid number"));
  CHECK_THAT(message(varint(8) + std::string(11, '\x80')), Catch::Contains("a number has more than 10 bytes"));
}

}  // namespace
}  // namespace unstarve
