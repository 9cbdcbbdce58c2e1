#include "unstarve/storage/formats/folder/listing_view.h"

#include <catch2/catch.hpp>
#include <cstdio>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/bytes/text.h"

namespace unstarve {
namespace {

// Three classes, the middle one empty.
struct Sample {
  std::vector<std::string> classes = {"cat", "dog", "eel"};
  std::vector<ClassFiles> files = std::vector<ClassFiles>(3);
  std::vector<SeenFolder> root = {{"", {1, 2, 3, -4, 5}}};
  std::vector<SeenLink> root_links = {{"broken", EntryKind::kFile}};

  Sample() {
    add(0, "a.jpg");
    add(0, "sub/b.jpg");
    add(2, "c.png");
    files[0].folders = {{"cat/", {1, 7, 8, 9, 10}}, {"cat/sub/", {6, 7, 8, 9, 10}}};
    files[2].links = {{"eel/pipe", EntryKind::kOther}};
  }
  void add(std::size_t number, std::string_view name) {
    files[number].names.push_back(files[number].pool.size());
    files[number].pool.insert(files[number].pool.end(), name.begin(), name.end());
    files[number].pool.push_back('\0');
  }
  [[nodiscard]] std::string bytes() const { return listing_bytes(classes, files, root, root_links); }
};

std::string rejected(const std::string& bytes) {
  try {
    const ListingView view(as_bytes(bytes));
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kInput);
    return error.what();
  }
  return "";
}

// Corrects the checksum, so that the checks after it are reached.
std::string with_checksum(std::string bytes) {
  const std::uint32_t crc = crc32c(as_bytes(bytes).subspan(44), crc32c(as_bytes(bytes).first(40)));
  for (std::size_t i = 0; i < 4; ++i) bytes[40 + i] = static_cast<char>(crc >> (8 * i) & 255);
  return bytes;
}

std::string with_number(std::string bytes, std::size_t at, std::uint64_t value) {
  for (std::size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i) & 255);
  return with_checksum(std::move(bytes));
}

TEST_CASE("a written listing reads back equal") {
  const Sample sample;
  const std::string bytes = sample.bytes();
  const ListingView view(as_bytes(bytes));
  REQUIRE(view.classes() == 3);
  REQUIRE(view.files() == 3);
  for (std::uint64_t i = 0; i < 3; ++i) CHECK(view.class_name(i) == sample.classes[i]);
  CHECK(view.first_file(0) == 0);
  CHECK(view.first_file(1) == 2);
  CHECK(view.first_file(2) == 2);
  CHECK(std::string(view.file(0)) == "a.jpg");
  CHECK(std::string(view.file(1)) == "sub/b.jpg");
  CHECK(std::string(view.file(2)) == "c.png");
  CHECK(view.folders() ==
        std::vector<SeenFolder>{sample.root[0], sample.files[0].folders[0], sample.files[0].folders[1]});
  CHECK(view.links() == std::vector<SeenLink>{sample.root_links[0], sample.files[2].links[0]});
}

TEST_CASE("the listing of many files takes their names and 8 bytes each") {
  Sample sample;
  const std::size_t empty = sample.bytes().size();
  constexpr std::uint64_t kFiles = 5000;
  constexpr std::size_t kName = sizeof "image_000000.jpg";  // with NUL
  for (std::uint64_t i = 0; i < kFiles; ++i) {
    char name[32];
    std::snprintf(name, sizeof name, "image_%06d.jpg", static_cast<int>(i));
    sample.add(i % 3, name);
  }
  CHECK(sample.bytes().size() <= empty + kFiles * (kName + 8) + 8);
}

TEST_CASE("an empty listing reads back") {
  const std::string bytes = listing_bytes({}, {}, std::vector<SeenFolder>{{"", {}}}, {});
  const ListingView view(as_bytes(bytes));
  CHECK(view.classes() == 0);
  CHECK(view.files() == 0);
  CHECK(view.folders().size() == 1);
}

TEST_CASE("a listing with any flipped byte or any truncation is rejected") {
  const std::string whole = Sample().bytes();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    INFO("offset " << at);
    std::string bad = whole;
    bad[at] = static_cast<char>(bad[at] ^ 0x55);
    CHECK(!rejected(bad).empty());
    CHECK(!rejected(whole.substr(0, at)).empty());
  }
  CHECK(!rejected(whole + '\0').empty());
  CHECK(rejected(with_checksum(whole)).empty());
}

TEST_CASE("wrong numbers are rejected even if the checksum is right") {
  const std::string whole = Sample().bytes();
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  for (std::size_t count = 0; count < 5; ++count) {
    for (const std::uint64_t value : {kHuge, kHuge / 16, std::uint64_t{1000}, std::uint64_t{0}})
      CHECK(!rejected(with_number(whole, 8 * count, value)).empty());
  }
  const auto outside = Catch::Contains("a name exceeds");
  CHECK_THAT(rejected(with_number(whole, 48, 1)), Catch::Contains("order of classes"));
  CHECK_THAT(rejected(with_number(whole, 48 + 16, 3)), Catch::Contains("order of classes"));
  CHECK_THAT(rejected(with_number(whole, 48 + 32, 4)), Catch::Contains("order of classes"));
  CHECK_THAT(rejected(with_number(whole, 48 + 8, kHuge)), outside);            // name of a class,
  CHECK_THAT(rejected(with_number(whole, 96, kHuge)), outside);                // a file,
  CHECK_THAT(rejected(with_number(whole, 120 + 48 + 40, kHuge)), outside);     // a folder,
  CHECK_THAT(rejected(with_number(whole, 120 + 3 * 48 + 8, kHuge)), outside);  // a link
  CHECK_THAT(rejected(with_number(whole, 120 + 3 * 48, 3)), Catch::Contains("kind of a link"));
}

TEST_CASE("names outside of their folder are rejected") {
  for (const char* const name : {"../x.jpg", "sub/../../x.jpg", "/etc/x.jpg", ".hidden.jpg", "sub//x.jpg", "."}) {
    Sample sample;
    sample.add(1, name);
    CHECK_THAT(rejected(sample.bytes()), Catch::Contains("outside of its folder"));
  }
}

}  // namespace
}  // namespace unstarve
