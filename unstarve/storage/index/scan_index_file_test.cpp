// The file of scan indexes next to a shard: used for its shard only, and without wrong indexes.
#include "unstarve/storage/index/scan_index_file.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "unstarve/core/file.h"
#include "unstarve/storage/index/scan_index_store.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

// Every third record has none.
Bytes some(std::uint64_t record, std::uint64_t salt = 0) {
  if (record % 3 == 1) return {};
  Bytes bytes(20 + (record * 37 + salt) % 200);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(record * 7 + i + salt);
  return bytes;
}

std::string file_of(std::uint64_t records, std::uint64_t shard_bytes) {
  ScanIndexBuilder builder;
  for (std::uint64_t record = 0; record < records; ++record) builder.add(some(record));
  return builder.file(shard_bytes);
}

std::span<const std::uint8_t> span_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

Bytes found(const ScanIndexView& view, std::uint64_t record) {
  const auto bytes = view.find(record).bytes;
  return {bytes.begin(), bytes.end()};
}

// A shard of 500 bytes and its file of `records` indexes.
std::string shard_in(const testing::TemporaryFolder& folder, std::uint64_t records, const std::string& name = "a.tar") {
  folder.write(name, std::string(500, 's'));
  folder.write(scan_index_path(name), file_of(records, 500));
  return folder.str(name);
}

// The file, which must be used.
std::shared_ptr<const ScanIndexFile> opened(const std::string& shard, std::uint64_t records) {
  std::string why_not = "previous text";
  auto file = ScanIndexFile::open(shard, records, why_not);
  REQUIRE(file);
  CHECK(why_not.empty());
  return file;
}

// Why the file of the shard is not used; empty if there is none.
std::string rejected(const std::string& shard, std::uint64_t records) {
  std::string why_not = "previous text";
  CHECK_FALSE(ScanIndexFile::open(shard, records, why_not));
  return why_not;
}

}  // namespace

TEST_CASE("scan indexes of a shard are found by record number", "[storage]") {
  const std::string file = file_of(20, 500);
  REQUIRE(ScanIndexView::why_not_of(span_of(file), 20, 500).empty());
  const ScanIndexView view(span_of(file));
  for (std::uint64_t record = 0; record < 20; ++record) CHECK(found(view, record) == some(record));
  CHECK_FALSE(ScanIndexView::why_not_of(span_of(file), 19, 500).empty());
  CHECK_FALSE(ScanIndexView::why_not_of(span_of(file), 20, 501).empty());
  CHECK(ScanIndexView::why_not_of(span_of(file_of(0, 1)), 0, 1).empty());
  ScanIndexBuilder none;
  none.add({});
  CHECK(none.empty());
  CHECK(file == file_of(20, 500));
}

TEST_CASE("a damaged file of scan indexes returns intact ones or none", "[storage]") {
  const std::string whole = file_of(6, 500);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string file = whole;
    file[at] = static_cast<char>(file[at] ^ 0x41);
    if (!ScanIndexView::why_not_of(span_of(file), 6, 500).empty()) continue;
    int lost = 0;
    for (std::uint64_t record = 0; record < 6; ++record) {
      const Bytes bytes = found(ScanIndexView(span_of(file)), record);
      if (bytes == some(record)) continue;
      CHECK(bytes.empty());
      CHECK(ScanIndexView(span_of(file)).find(record).what == FoundIndex::kDamaged);
      ++lost;
    }
    CHECK(lost <= 1);
  }
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string file = whole.substr(0, length);
    if (!ScanIndexView::why_not_of(span_of(file), 6, 500).empty()) continue;
    for (std::uint64_t record = 0; record < 6; ++record) {
      const Bytes bytes = found(ScanIndexView(span_of(file)), record);
      CHECK((bytes.empty() || bytes == some(record)));
      const bool lost = bytes != some(record);
      CHECK((ScanIndexView(span_of(file)).find(record).what == FoundIndex::kDamaged) == lost);
    }
  }
}

TEST_CASE("a file of scan indexes belongs to its shard", "[storage]") {
  const testing::TemporaryFolder folder;
  const std::string shard = shard_in(folder, 6);
  Bytes bytes;
  const auto file = opened(shard, 6);
  CHECK(file->find(2, bytes) == FoundIndex::kRight);
  CHECK(bytes == some(2));
  CHECK(file->find(1, bytes) == FoundIndex::kNone);
  CHECK(bytes.empty());
  CHECK(rejected(folder.str("nowhere.tar"), 6).empty());
  CHECK(rejected(folder.str("a.tar/nowhere.tar"), 6).empty());
}

TEST_CASE("a file of scan indexes of another shard, or incomplete, is reported with the reason", "[storage]") {
  using Catch::Contains;
  const testing::TemporaryFolder folder;
  const std::string shard = shard_in(folder, 6);
  const std::string path = scan_index_path(shard), whole = read_text_file(path);
  CHECK(rejected(shard, 7) == path + ": it belongs to a shard with 6 records in 500 bytes; found 7 in 500");
  folder.write("a.tar", std::string(501, 's'));
  CHECK(rejected(shard, 6) == path + ": it belongs to a shard with 6 records in 500 bytes; found 6 in 501");
  folder.write("a.tar", std::string(500, 's'));
  // No byte of the header may differ; a different version is reported as such.
  for (std::size_t at = 0; at < 32; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    folder.write("a.tar.jpeg.unstarve-index", damaged);
    const bool version = at >= 8 && at < 12;
    CHECK(rejected(shard, 6) ==
          path + (version ? ": it was written by another version of unstarve" : ": damaged header"));
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{31}, std::size_t{32}, std::size_t{32 + 6 * 16 - 1}}) {
    folder.write("a.tar.jpeg.unstarve-index", whole.substr(0, size));
    CHECK(rejected(shard, 6) == path + ": truncated: " + std::to_string(size) + " bytes; expected a header of 32" +
                                    (size < 32 ? "" : " and a table of 6 entries"));
  }
  folder.write("a.tar.jpeg.unstarve-index", whole);
  (void)opened(shard, 6);
  folder.folder("b.tar.jpeg.unstarve-index");
  folder.write("b.tar", "");
  CHECK_THAT(rejected(folder.str("b.tar"), 6), Contains("b.tar.jpeg.unstarve-index") && Contains("directory"));
}

TEST_CASE("packed indexes are used where the dataset's own file has none", "[storage]") {
  const testing::TemporaryFolder folder;
  const std::vector<ScanIndexPart> parts{{10, 6, opened(shard_in(folder, 6), 6)},
                                         {20, 9, opened(shard_in(folder, 9, "b.tar"), 9)}};
  const std::vector<fs::path> paths{folder.str("own")};
  const auto store = ScanIndexStore::open(paths, 40, 0, parts);
  Bytes bytes;
  const auto expected = [](std::uint64_t id) {
    if (id >= 10 && id < 16) return some(id - 10);
    return id >= 20 && id < 29 ? some(id - 20) : Bytes();
  };
  for (std::uint64_t id = 0; id < 40; ++id) {
    INFO(id);
    CHECK(store->find(id, bytes) == !expected(id).empty());
    CHECK(bytes == expected(id));
  }
  store->put(12, some(3, 9));  // as for a wrong index
  store->put(5, some(5));
  for (const auto& reader : {store, ScanIndexStore::open(paths, 40, 0, parts)}) {
    CHECK(reader->find(12, bytes));
    CHECK(bytes == some(3, 9));
    CHECK(reader->find(5, bytes));
    CHECK(bytes == some(5));
  }
  // Without a writable path, existing indexes are used.
  const std::vector<fs::path> nowhere{folder.str("a.tar/index")};
  CHECK_THROWS(ScanIndexStore::open(nowhere, 40, 0));
  const auto poor = ScanIndexStore::open(nowhere, 40, 0, parts);
  CHECK_FALSE(poor->writable());
  CHECK_THAT(poor->note(), Catch::Contains("a.tar") && Catch::Contains("no more scan indexes"));
  poor->put(1, some(3));
  CHECK_FALSE(poor->find(1, bytes));
  CHECK(poor->find(20, bytes));
  CHECK(poor->path().empty());
}

TEST_CASE("a damaged index with an intact packed one is counted once and replaced", "[storage]") {
  const testing::TemporaryFolder folder;
  const std::vector<ScanIndexPart> parts{{10, 6, opened(shard_in(folder, 6), 6)}};
  const std::vector<fs::path> paths{folder.str("own")};
  ScanIndexStore::open(paths, 40, 0, parts)->put(12, some(3, 9));
  std::string file = read_text_file(paths[0]);
  file.back() = static_cast<char>(file.back() ^ 1);
  folder.write("own", file);
  Bytes bytes;
  for (const std::uint64_t damaged : {1u, 0u}) {
    const auto store = ScanIndexStore::open(paths, 40, 0, parts);
    for (int i = 0; i < 3; ++i) {
      CHECK(store->find(12, bytes));
      CHECK(bytes == some(2));
    }
    CHECK(store->counts().wrong == damaged);
    CHECK(store->counts().made == damaged);
  }
  // Without the packed one, the damage is counted equally often.
  folder.write("own", file);
  const auto alone = ScanIndexStore::open(paths, 40, 0);
  for (int i = 0; i < 3; ++i) CHECK_FALSE(alone->find(12, bytes));
  CHECK(alone->counts().wrong == 1);
}

}  // namespace unstarve
