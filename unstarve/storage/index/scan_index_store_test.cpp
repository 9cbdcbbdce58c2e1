// The file of scan indexes: shared by threads and processes, consistent after any exit, usable read-only.
#include "unstarve/storage/index/scan_index_store.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <thread>

#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes some_scan_index(std::uint64_t id, std::uint64_t salt = 0) {
  Bytes bytes(20 + (id * 37 + salt) % 300);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(id * 7 + i + salt);
  return bytes;
}

}  // namespace

TEST_CASE("added indexes are found after every open", "[storage]") {
  const testing::TemporaryFolder folder;
  const std::vector<std::filesystem::path> paths{folder.str("index")};
  const auto store = ScanIndexStore::open(paths, 100, 7);
  Bytes bytes;
  for (std::uint64_t id = 0; id < 100; id += 3) store->put(id, some_scan_index(id));
  const auto other = ScanIndexStore::open(paths, 100, 7);
  for (const auto& reader : {store, other}) {
    for (std::uint64_t id = 0; id < 100; ++id) {
      INFO(id);
      CHECK(reader->find(id, bytes) == (id % 3 == 0));
      CHECK(bytes == (id % 3 == 0 ? some_scan_index(id) : Bytes()));
    }
  }
  other->put(3, some_scan_index(3, 1));
  REQUIRE(store->find(3, bytes));
  CHECK(bytes == some_scan_index(3, 1));
  CHECK(store->counts().made == 34);
  CHECK(other->counts().made == 1);
}

TEST_CASE("indexes of other data are not used", "[storage]") {
  const testing::TemporaryFolder folder;
  const std::vector<std::filesystem::path> paths{folder.str("index")};
  ScanIndexStore::open(paths, 100, 7)->put(1, some_scan_index(1));
  Bytes bytes;
  CHECK(ScanIndexStore::open(paths, 100, 7)->find(1, bytes));
  CHECK_FALSE(ScanIndexStore::open(paths, 100, 8)->find(1, bytes));
  CHECK_FALSE(ScanIndexStore::open(paths, 99, 8)->find(1, bytes));
  CHECK(ScanIndexStore::open(paths, 98, 8)->note().empty());  // other data is not damage
  folder.write("index", std::string_view("something else"));
  const auto store = ScanIndexStore::open(paths, 100, 7);
  CHECK_FALSE(store->find(1, bytes));
  CHECK_THAT(store->note(), Catch::Contains("index: it was damaged"));
  CHECK(ScanIndexStore::open(paths, 100, 7)->note().empty());  // it is intact again
  std::string other = read_text_file(paths[0]);
  other[8] = 2;
  folder.write("index", other);
  CHECK_THAT(ScanIndexStore::open(paths, 100, 7)->note(),
             Catch::Contains("index: it was written by another version of unstarve"));
}

TEST_CASE("an image with a wrong index, or one of another version, is counted once", "[storage]") {
  const testing::TemporaryFolder folder;
  const std::vector<std::filesystem::path> paths{folder.str("index")};
  const auto store = ScanIndexStore::open(paths, 100, 7);
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (std::uint64_t id = 0; id < 10; ++id) store->count_wrong(id);
    for (std::uint64_t id = 95; id < 100; ++id) store->count_other_version(id);
  }
  CHECK(store->counts().wrong == 10);
  CHECK(store->counts().other_version == 5);
}

TEST_CASE("a damaged file returns intact indexes or none, and distinguishes damage from absence", "[storage]") {
  const testing::TemporaryFolder folder;
  const std::vector<std::filesystem::path> paths{folder.str("index")};
  {
    const auto store = ScanIndexStore::open(paths, 8, 7);
    Bytes bytes;
    CHECK_FALSE(store->find(3, bytes));
    for (std::uint64_t id = 0; id < 8; ++id) store->put(id, some_scan_index(id));
    CHECK(store->counts().wrong == 0);
  }
  const std::string whole = read_text_file(paths[0]);
  Bytes bytes;
  int found = 0;
  for (std::size_t i = 32; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    folder.write("index", damaged);
    const auto store = ScanIndexStore::open(paths, 8, 7);
    for (std::uint64_t id = 0; id < 8; ++id) {
      if (!store->find(id, bytes)) continue;
      ++found;
      REQUIRE(bytes == some_scan_index(id));
    }
    REQUIRE(store->counts().wrong == 1);
  }
  CHECK(found == static_cast<int>((whole.size() - 32) * 7));
  for (std::size_t size = 0; size < whole.size(); size += 5) {
    folder.write("index", std::string_view(whole).substr(0, size));
    const auto store = ScanIndexStore::open(paths, 8, 7);
    INFO("cut to " << size << " bytes");
    std::uint64_t lost = 0;
    for (std::uint64_t id = 0; id < 8; ++id) {
      if (store->find(id, bytes)) REQUIRE(bytes == some_scan_index(id));
      lost += bytes.empty() ? 1 : 0;
    }
    // If the header is lost, too, everything is rebuilt.
    REQUIRE(store->counts().wrong == (size < 32 ? 0 : lost));
    REQUIRE(store->note().empty() == (size >= 32));
    store->put(2, some_scan_index(2, 5));
    REQUIRE(store->find(2, bytes));
    REQUIRE(bytes == some_scan_index(2, 5));
  }
}

TEST_CASE("a read-only file is used, and the next path if there is none", "[storage]") {
  const testing::TemporaryFolder folder;
  const std::vector<std::filesystem::path> paths{folder.str("a/index"), folder.str("b/index")};
  ScanIndexStore::open(paths, 10, 7)->put(1, some_scan_index(1));
  Bytes bytes;
  if (::geteuid() != 0) {
    std::filesystem::permissions(paths[0], std::filesystem::perms::owner_read);
    const auto store = ScanIndexStore::open(paths, 10, 7);
    CHECK(store->find(1, bytes));
    CHECK_FALSE(store->writable());
    store->put(2, some_scan_index(2));
    CHECK_FALSE(store->find(2, bytes));
  }
  std::filesystem::remove_all(folder.str("a"));
  folder.write("a", std::string_view("a file where a folder should be"));
  const auto second = ScanIndexStore::open(paths, 10, 7);
  CHECK(second->path() == paths[1]);
  CHECK_THROWS_AS(ScanIndexStore::open(std::span(paths).first(1), 10, 7), Error);
  CHECK_THROWS_AS(ScanIndexStore::open({}, 10, 7), Error);
}

TEST_CASE("indexes of the cache folder move next to the data once they are requested there", "[storage]") {
  const testing::TemporaryFolder folder;
  const std::filesystem::path cached = folder.str("cache/index"), next_to_data = folder.str("photos.index");
  ScanIndexStore::open(std::vector{cached}, 10, 7)->put(1, some_scan_index(1));
  const auto store = ScanIndexStore::open(std::vector{next_to_data, cached}, 10, 7);
  CHECK(store->path() == next_to_data);
  CHECK_FALSE(std::filesystem::exists(cached));
  store->put(2, some_scan_index(2));
  const auto again = ScanIndexStore::open(std::vector{next_to_data, cached}, 10, 7);
  Bytes bytes;
  CHECK(again->find(1, bytes));
  CHECK(again->find(2, bytes));
  CHECK(bytes == some_scan_index(2));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    CHECK(entry.path().extension() != ".partial");
  // If that folder cannot be written, they stay.
  const std::filesystem::path unwritable = folder.str("missing/index");
  CHECK(ScanIndexStore::open(std::vector{unwritable, next_to_data}, 10, 7)->path() == next_to_data);
  CHECK(std::filesystem::exists(next_to_data));
}

TEST_CASE("nothing is lost if the file cannot grow", "[storage]") {
  const testing::TemporaryFolder folder;
  const std::vector<std::filesystem::path> paths{folder.str("index")};
  const auto store = ScanIndexStore::open(paths, 10, 7);
  store->put(1, some_scan_index(1));
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{600, 600};
    ::signal(SIGXFSZ, SIG_IGN);
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(3);
    const auto full = ScanIndexStore::open(paths, 10, 7);
    for (std::uint64_t id = 2; id < 10; ++id) full->put(id, some_scan_index(id));
    ::_exit(full->writable() || full->note().find("index: ") == std::string::npos ? 4 : 0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
  Bytes bytes;
  int found = 0;
  for (std::uint64_t id = 1; id < 10; ++id) {
    if (!store->find(id, bytes)) continue;
    ++found;
    CHECK(bytes == some_scan_index(id));
  }
  CHECK(found >= 1);
  CHECK(found < 9);
  store->put(9, some_scan_index(9));
  CHECK(store->find(9, bytes));
}

TEST_CASE("threads and processes add to one file", "[storage]") {
  const testing::TemporaryFolder folder;
  const std::vector<std::filesystem::path> paths{folder.str("index")};
  constexpr std::uint64_t kRecords = 400;
  const auto store = ScanIndexStore::open(paths, kRecords, 7);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto own = ScanIndexStore::open(paths, kRecords, 7);
    for (std::uint64_t id = 0; id < kRecords; id += 2) own->put(id, some_scan_index(id));
    ::_exit(0);
  }
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 2; ++t)
      threads.emplace_back([&, t] {
        for (std::uint64_t id = 1 + 2 * t; id < kRecords; id += 4) store->put(id, some_scan_index(id));
      });
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  Bytes bytes;
  for (std::uint64_t id = 0; id < kRecords; ++id) {
    REQUIRE(store->find(id, bytes));
    REQUIRE(bytes == some_scan_index(id));
  }
}

TEST_CASE("data in the working folder has its indexes there", "[storage]") {
  const testing::TemporaryFolder folder;
  folder.folder("photos");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const auto store = ScanIndexStore::open(scan_index_candidates("photos", ""), 3, 0);
  std::filesystem::current_path(before);
  CHECK_FALSE(store->path().has_parent_path());
  CHECK(std::filesystem::exists(folder.path() / store->path()));
}

TEST_CASE("indexes are next to a file or folder, and in the cache folder for other names", "[storage]") {
  const testing::TemporaryFolder folder;
  folder.folder("photos");
  const auto next_to_data = scan_index_candidates(folder.str("photos/"), "");
  REQUIRE_FALSE(next_to_data.empty());
  CHECK(next_to_data[0].parent_path() == folder.str(""));
  CHECK(next_to_data[0] != scan_index_candidates(folder.str("photos"), "train")[0]);
  for (const std::filesystem::path& path : scan_index_candidates(folder.str("*.tar"), ""))
    CHECK(path.parent_path() != folder.str(""));
}

}  // namespace unstarve
