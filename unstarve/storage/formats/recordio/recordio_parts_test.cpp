#include "unstarve/storage/formats/recordio/recordio_parts.h"

#include <catch2/catch.hpp>
#include <vector>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/testing/byte_text.h"
#include "unstarve/storage/testing/fixtures_folder.h"
#include "unstarve/storage/testing/recordio_text.h"

namespace unstarve {
namespace {

using testing::bytes_of, testing::error_message, testing::text_of;
using testing::recordio_image, testing::recordio_part, testing::recordio_record;

// Joins into a separate buffer and in place, and compares the two.
std::string joined(const std::string& stored) {
  std::vector<std::uint8_t> buffer(stored.size());
  std::string separate = text_of(join_recordio(bytes_of(stored), buffer.data()));
  std::vector<std::uint8_t> copy(stored.begin(), stored.end());
  CHECK(text_of(join_recordio(copy, copy.data())) == separate);
  return separate;
}

TEST_CASE("a record in one part is a zero-copy view") {
  const std::string stored = recordio_record("hello");
  CHECK_FALSE(is_recordio_in_parts(bytes_of(stored)));
  const auto bytes = join_recordio(bytes_of(stored), nullptr);
  CHECK(text_of(bytes) == "hello");
  CHECK(bytes.data() == bytes_of(stored).data() + kRecordioHeadBytes);
  CHECK(joined(recordio_record("")).empty());
}

TEST_CASE("parts are joined with the magic between them") {
  const std::string magic = testing::recordio_magic();
  const std::string data = "abcd" + magic + magic + "ef" + magic + "x";  // the last one is not aligned
  const std::string stored = recordio_record(data);
  CHECK(stored.size() == 8 + 4 + 8 + 8 + 8);
  CHECK(is_recordio_in_parts(bytes_of(stored)));
  CHECK(joined(stored) == data);
  CHECK(joined(recordio_record(magic)) == magic);
}

TEST_CASE("any truncation and any wrong order of parts is rejected") {
  const std::string magic = testing::recordio_magic();
  const std::string whole = recordio_record("abcd" + magic + "efgh");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    INFO(length);
    CHECK(error_message([&] { return joined(whole.substr(0, length)); }) != "no error");
  }
  CHECK_THAT(error_message([&] { return joined(recordio_part(3, "abcd")); }), Catch::Contains("out of order"));
  CHECK_THAT(error_message([&] { return joined(recordio_part(1, "abcd") + recordio_part(0, "abcd")); }),
             Catch::Contains("out of order"));
  CHECK_THAT(error_message([&] { return joined(recordio_part(7, "abcd")); }), Catch::Contains("record flag 7"));
  CHECK_THAT(error_message([&] { return joined(recordio_record("a") + recordio_record("b")); }),
             Catch::Contains("bytes follow the last part"));
  CHECK_THAT(error_message([&] { return joined("nothing like it"); }),
             Catch::Contains("the magic 0xced7230a is missing"));
}

TEST_CASE("label and image are read from the image header") {
  const auto parse = [](const std::string& record) { return parse_recordio_image(bytes_of(record)); };
  CHECK(parse(recordio_image({7}, "jpeg")).label == 7);
  CHECK(parse(recordio_image({3, 0.5F, 9}, "jpeg")).label == std::nullopt);
  CHECK(parse(recordio_image({3, 0.5F, 9}, "jpeg")).no_label == "several values: 3 labels per image");
  CHECK(text_of(parse(recordio_image({3, 0.5F, 9}, "jpeg")).encoded) == "jpeg");
  CHECK(parse(recordio_image({3}, "jpeg", 42)).id == 42);

  const std::string whole = recordio_image({1, 2}, "i");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CHECK(error_message([&] { return parse(whole.substr(0, length)); }) != "no error");
  }
  CHECK(parse(recordio_image({0.5F}, "jpeg")).no_label == "the float 0.500000");
  CHECK_THAT(error_message([&] { return parse(recordio_image({-1}, "jpeg")); }),
             Catch::Contains("expected a class number"));
  CHECK_THAT(error_message([&] { return parse(recordio_image({1e30F}, "jpeg")); }), Catch::Contains("class number"));
  std::string wrong = recordio_image({1}, "jpeg");
  wrong.replace(0, 4, "\xff\xff\xff\xff");
  CHECK_THAT(error_message([&] { return parse(wrong); }), Catch::Contains("4294967295 labels, 4 bytes follow"));
}

TEST_CASE("records written by mxnet are read") {
  std::string rest = testing::fixture_bytes("recordio/plain.rec");
  for (std::size_t i = 0; i < 5; ++i) {
    const std::uint64_t bytes = parse_recordio_head(bytes_of(rest)).stored_bytes();
    const std::string record = joined(rest.substr(0, bytes));
    const RecordioImage image = parse_recordio_image(bytes_of(record));
    CHECK(image.label == testing::kFixtureLabels[i]);
    CHECK(image.id == i);
    CHECK(text_of(image.encoded) == testing::fixture_image(i));
    rest.erase(0, bytes);
  }
  CHECK(rest.empty());
}

}  // namespace
}  // namespace unstarve
