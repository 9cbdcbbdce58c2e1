#include "unstarve/storage/index/index_sidecar.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/index/index_paths.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using testing::TemporaryFolder;
namespace fs = std::filesystem;

std::vector<IndexRecord> some_records(std::size_t count) {
  std::vector<IndexRecord> records;
  for (std::size_t i = 0; i < count; ++i) {
    const auto n = static_cast<std::uint32_t>(i);
    records.push_back({std::uint64_t{n} << 33, 1000 + i, n % 3, static_cast<std::int32_t>(n) - 1, 500 + n, 375});
  }
  return records;
}

std::vector<IndexBlobs> some_blobs(std::size_t count) {
  std::vector<IndexBlobs> kinds{{"jpeg-rows", {}}, {"thumb", {}}};
  for (std::size_t i = 0; i < count; ++i) {
    kinds[0].blobs.emplace_back(i * 7, static_cast<std::uint8_t>(i));  // the first is empty
    kinds[1].blobs.emplace_back();
  }
  return kinds;
}

const std::vector<IndexPart> kParts{{"classes", "cat dog"}, {"nothing", ""}};

const SourceStamp kData{123456789012, 1700000000000000001};

TEST_CASE("CRC-32 has its published check values") {
  const auto of = [](std::string_view text) {
    return crc32({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  CHECK(of("") == 0);
  CHECK(of("123456789") == 0xCBF43926);  // the catalogue's check value for CRC-32/ISO-HDLC
  CHECK(of("The quick brown fox jumps over the lazy dog") == 0x414FA339);
  const std::vector<std::uint8_t> bytes(100, 7);
  CHECK(crc32(std::span(bytes).subspan(33), crc32(std::span(bytes).first(33))) == crc32(bytes));
}

TEST_CASE("an index is read as written") {
  TemporaryFolder folder;
  const std::size_t count = GENERATE(0, 1, 100, 1023, 1024, 1025, 2100);
  const auto records = some_records(count);
  const auto blobs = some_blobs(count);
  write_file_atomically(folder.path() / "x", index_bytes(kData, records, blobs, kParts));
  const std::shared_ptr<const IndexView> opened = open_index(folder.str("x"));
  const IndexView& view = *opened;
  CHECK(view.data() == kData);
  REQUIRE(view.size() == count);
  CHECK(view.blob_kind("jpeg-rows") == 0);
  CHECK(view.blob_kind("thumb") == 1);
  CHECK(view.blob_kind("records") == -1);
  const auto part = view.part("classes");
  REQUIRE(part.has_value());
  CHECK(std::string(part->begin(), part->end()) == "cat dog");
  REQUIRE(view.part("nothing").has_value());
  CHECK(view.part("nothing")->empty());
  CHECK_FALSE(view.part("thumb").has_value());
  for (std::size_t id = 0; id < count; ++id) {
    CHECK(view.record(id) == records[id]);
    const auto blob = view.blob(0, id);
    CHECK(std::vector<std::uint8_t>(blob.begin(), blob.end()) == blobs[0].blobs[id]);
    CHECK(view.blob(1, id).empty());
  }
}

TEST_CASE("a missing, outdated or damaged index is rejected") {
  TemporaryFolder folder;
  const fs::path path = folder.path() / "x";
  const auto rejected = [&](ErrorKind kind) {
    return testing::error_message([&] { return open_index(path.string()); }, kind);
  };
  CHECK_THAT(rejected(ErrorKind::kIo), Catch::Contains(path.string()));
  write_file_atomically(path, index_bytes(kData, some_records(3)));
  CHECK(open_index(path.string())->data() == kData);

  const std::string good = read_text_file(path);
  std::string other_version = good;
  other_version[8] = 1;
  write_file_atomically(path, other_version);
  CHECK_THAT(rejected(ErrorKind::kInput), Catch::Contains("version 1; expected 2"));

  for (const std::string& bad : {std::string(), std::string("short"), std::string(200, 'x'), good.substr(0, 40),
                                 good.substr(0, good.size() - 1), good + "x"}) {
    write_file_atomically(path, bad);
    CHECK_THAT(rejected(ErrorKind::kInput), Catch::Contains(path.string()));
  }
}

TEST_CASE("every flipped byte is detected") {
  TemporaryFolder folder;
  const fs::path path = folder.path() / "x";
  write_file_atomically(path, index_bytes(kData, some_records(4), some_blobs(4), kParts));
  const std::string good = read_text_file(path);
  int quiet = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x20);
    try {
      const IndexView view({reinterpret_cast<const std::uint8_t*>(bad.data()), bad.size()}, "bad");
      (void)view.part("classes");
      for (std::uint64_t id = 0; id < view.size(); ++id) {
        (void)view.record(id);
        (void)view.blob(0, id);
        (void)view.blob(1, id);
      }
      ++quiet;
      INFO("offset " << i);
      CHECK(good[i] == 0);  // only padding between sections is not covered
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kInput);
    }
  }
  CHECK(quiet < 24);
}

TEST_CASE("damage in one block of records leaves the others readable") {
  std::string bytes = index_bytes(kData, some_records(3000));
  const std::size_t first = bytes.size() - 3 * 4 - 3000 * 32;
  bytes[first + 2000 * 32] = static_cast<char>(bytes[first + 2000 * 32] ^ 1);
  const IndexView view({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, "x.index");
  CHECK(view.record(0) == some_records(1)[0]);
  CHECK(view.record(2048).length == 3048);
  CHECK_THAT(testing::error_message([&] { return view.record(1024); }),  // in the same block as record 2000
             Catch::Contains("x.index") && Catch::Contains("Delete it"));
}

TEST_CASE("an invalid index is rejected") {
  const auto records = some_records(2);
  for (const char* name : {"", "records", "UPPER", "a/b", "much-too-long-for-its-field"}) {
    const std::vector<IndexBlobs> blobs{{name, {{1}, {2}}}};
    CHECK_THROWS_AS(index_bytes(kData, records, blobs), Error);
  }
  const std::vector<IndexBlobs> twice{{"a", {{1}, {2}}}, {"a", {{1}, {2}}}};
  CHECK_THROWS_AS(index_bytes(kData, records, twice), Error);
  const std::vector<IndexBlobs> few{{"a", {{1}}}};
  CHECK_THROWS_AS(index_bytes(kData, records, few), Error);
  const std::vector<IndexBlobs> fine{{"a", {{1}, {2}}}};
  const std::vector<IndexPart> taken{{"a", "x"}};
  CHECK_THROWS_AS(index_bytes(kData, records, fine, taken), Error);
}

TEST_CASE("the index of data is next to it") {
  CHECK(index_path("photos/").string() == "photos.unstarve-index");
  CHECK(index_path("a/b.bin").string() == "a/b.bin.unstarve-index");
}

}  // namespace
}  // namespace unstarve
