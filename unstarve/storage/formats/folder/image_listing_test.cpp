#include "unstarve/storage/formats/folder/image_listing.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <latch>
#include <memory>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/storage/formats/folder/image_folder.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using testing::TemporaryFolder;
namespace fs = std::filesystem;

// All times are old an hour from now; listings of any size are cached.
ListingOptions an_hour_later() { return {0, kMaxCachedLinks, wall_clock_ns() + 3'600'000'000'000}; }

struct Found {
  std::vector<std::string> names;  // "class/file"
  bool cached;
};

Found open_listing(const std::string& root, const ListingOptions& options = an_hour_later()) {
  const ImageFolder data(root, options);
  Found found{{}, data.listing().cached()};
  for (std::uint64_t id = 0; id < data.size(); ++id) found.names.push_back(data.location(id).substr(root.size() + 1));
  return found;
}

void put(const fs::path& file) { write_file_atomically(file, "x", Durability::kRenamed); }

// The names found by a fresh scan, without the cache.
std::vector<std::string> scanned_again(const TemporaryFolder& folder) {
  const std::string elsewhere = folder.str("again");
  fs::remove(elsewhere);
  fs::create_directory_symlink(folder.path() / "set", elsewhere);
  fs::remove(folder.path() / "set.unstarve-index");
  const Found found = open_listing(elsewhere, {~std::uint64_t{0}, 0, 0});
  REQUIRE(!found.cached);
  return found.names;
}

void make_set(const TemporaryFolder& folder) {
  for (const char* name : {"set/cat/1.jpg", "set/cat/2.jpg", "set/cat/deep/3.jpg", "set/dog/4.png", "set/dog/note.txt",
                           "elsewhere/5.jpg", "elsewhere/sub/6.jpg", "far/7.jpg"}) {
    folder.write(name, name);
  }
  fs::create_directory_symlink(folder.path() / "elsewhere", folder.path() / "set/linked");
  fs::create_symlink(folder.path() / "far/7.jpg", folder.path() / "set/cat/link.jpg");
  fs::create_symlink(folder.path() / "nowhere", folder.path() / "set/broken");
}

TEST_CASE("a cached listing is used and has the same names") {
  TemporaryFolder folder;
  make_set(folder);
  const std::string root = folder.str("set");
  const Found first = open_listing(root);
  CHECK(!first.cached);
  CHECK(first.names == std::vector<std::string>{"cat/1.jpg", "cat/2.jpg", "cat/link.jpg", "cat/deep/3.jpg", "dog/4.png",
                                                "linked/5.jpg", "linked/sub/6.jpg"});
  CHECK(fs::exists(root + ".unstarve-index"));
  const Found second = open_listing(root);
  CHECK(second.cached);
  CHECK(second.names == first.names);
  CHECK(open_listing(root + "/../set").cached);
  const ImageFolder data(root, an_hour_later());
  CHECK(data.classes() == std::vector<std::string>{"cat", "dog", "linked"});
  RecordBuffer record;
  data.read(4, record);
  CHECK(record.values[1].integer == 1);
  CHECK(std::string(record.values[0].bytes.begin(), record.values[0].bytes.end()) == "set/dog/4.png");
}

// The test does not sleep: each change follows the listing within one clock step of the file system where possible.
TEST_CASE("any change in the folders makes the cached listing stale immediately") {
  const std::vector<std::pair<const char*, std::function<void(const fs::path&)>>> changes = {
      {"file added", [](const fs::path& at) { put(at / "set/cat/0.jpg"); }},
      {"file added deeper", [](const fs::path& at) { put(at / "set/cat/deep/0.jpg"); }},
      {"file added in a linked folder", [](const fs::path& at) { put(at / "elsewhere/sub/0.jpg"); }},
      {"file removed", [](const fs::path& at) { fs::remove(at / "set/cat/1.jpg"); }},
      {"file renamed", [](const fs::path& at) { fs::rename(at / "set/cat/1.jpg", at / "set/cat/9.jpg"); }},
      {"file moved", [](const fs::path& at) { fs::rename(at / "set/cat/1.jpg", at / "set/dog/1.jpg"); }},
      {"file became a folder",
       [](const fs::path& at) {
         fs::remove(at / "set/cat/1.jpg");
         fs::create_directory(at / "set/cat/1.jpg");
       }},
      {"class added", [](const fs::path& at) { fs::create_directory(at / "set/ant"); }},
      {"file added in a folder without images", [](const fs::path& at) { put(at / "set/void/deep/0.jpg"); }},
      {"class removed", [](const fs::path& at) { fs::remove_all(at / "set/dog"); }},
      {"class renamed", [](const fs::path& at) { fs::rename(at / "set/dog", at / "set/bee"); }},
      {"classes swapped",
       [](const fs::path& at) {
         fs::rename(at / "set/dog", at / "set/x");
         fs::rename(at / "set/cat", at / "set/dog");
         fs::rename(at / "set/x", at / "set/cat");
       }},
      {"folder replaced",
       [](const fs::path& at) {
         fs::create_directories(at / "new/deep");
         put(at / "new/deep/3.jpeg");
         fs::rename(at / "set/cat/deep", at / "old");
         fs::rename(at / "new/deep", at / "set/cat/deep");
       }},
      {"root replaced",
       [](const fs::path& at) {
         fs::rename(at / "set", at / "old");
         fs::create_directories(at / "set/cat");
         put(at / "set/cat/7.jpg");
       }},
      {"link to a folder retargeted",
       [](const fs::path& at) {
         fs::rename(at / "elsewhere", at / "old");
         fs::create_directory(at / "elsewhere");
         put(at / "elsewhere/8.jpg");
       }},
      {"target of a link became a folder",
       [](const fs::path& at) {
         fs::remove(at / "far/7.jpg");
         fs::create_directory(at / "far/7.jpg");
         put(at / "far/7.jpg/in.jpg");
       }},
      {"target of a broken link created, with a file",
       [](const fs::path& at) {
         fs::create_directory(at / "nowhere");
         put(at / "nowhere/8.jpg");
       }},
      {"target of a broken link created, as a class", [](const fs::path& at) { fs::create_directory(at / "nowhere"); }},
  };
  for (const auto& [name, change] : changes) {
    INFO(name);
    TemporaryFolder folder;
    make_set(folder);
    folder.folder("set/void/deep");
    const std::string root = folder.str("set");
    (void)open_listing(root);
    REQUIRE(open_listing(root).cached);
    change(folder.path());
    const Found found = open_listing(root);
    CHECK(!found.cached);
    CHECK(open_listing(root).cached);  // cached again
    CHECK(found.names == scanned_again(folder));
  }
}

TEST_CASE("changes that do not affect names keep the cached listing valid") {
  TemporaryFolder folder;
  make_set(folder);
  (void)open_listing(folder.str("set"));
  folder.write("set/cat/1.jpg", "other content, of another length");
  folder.write("other/1.jpg", "x");
  CHECK(open_listing(folder.str("set")).cached);
}

TEST_CASE("a listing with times within one clock step is not cached") {
  TemporaryFolder folder;
  make_set(folder);
  struct stat status {};
  REQUIRE(::stat(folder.str("set/cat").c_str(), &status) == 0);
  const std::int64_t changed =
      static_cast<std::int64_t>(status.st_ctim.tv_sec) * 1'000'000'000 + status.st_ctim.tv_nsec;
  const std::int64_t now = GENERATE_COPY(changed - 3'600'000'000'000, changed, changed + 1'999'999'999);
  CHECK(!open_listing(folder.str("set"), {0, kMaxCachedLinks, now}).cached);
  CHECK(!fs::exists(folder.str("set.unstarve-index")));
}

TEST_CASE("a folder whose mtime was set back is scanned again") {
  TemporaryFolder folder;
  make_set(folder);
  const fs::path cat = folder.path() / "set/cat";
  const auto before = fs::last_write_time(cat);
  (void)open_listing(folder.str("set"));
  fs::rename(cat / "1.jpg", cat / "9.jpg");
  fs::last_write_time(cat, before);
  const Found found = open_listing(folder.str("set"));
  CHECK(!found.cached);
  CHECK(found.names == scanned_again(folder));
}

TEST_CASE("folders without a time are not cached") {
  TemporaryFolder folder;
  make_set(folder);
  fs::last_write_time(folder.path() / "set/dog",
                      fs::file_time_type(std::chrono::file_clock::from_sys(std::chrono::system_clock::time_point{})));
  (void)open_listing(folder.str("set"));
  CHECK(!fs::exists(folder.str("set.unstarve-index")));
}

TEST_CASE("small folders and folders with many links to files are not cached") {
  TemporaryFolder folder;
  make_set(folder);
  const ListingOptions defaults{kCachedFiles, kMaxCachedLinks, an_hour_later().now_ns};
  (void)open_listing(folder.str("set"), defaults);
  CHECK(!fs::exists(folder.str("set.unstarve-index")));
  ListingOptions few_links = an_hour_later();
  few_links.max_links = 1;  // the set has two
  (void)open_listing(folder.str("set"), few_links);
  CHECK(!fs::exists(folder.str("set.unstarve-index")));
  few_links.max_links = 2;
  (void)open_listing(folder.str("set"), few_links);
  CHECK(fs::exists(folder.str("set.unstarve-index")));
}

TEST_CASE("a damaged or truncated cached listing is scanned again") {
  TemporaryFolder folder;
  make_set(folder);
  const std::string root = folder.str("set");
  const std::vector<std::string> expected = open_listing(root).names;
  const std::string whole = read_text_file(root + ".unstarve-index");
  for (std::size_t at = 0; at < whole.size(); at += 29) {
    std::string bad = whole;
    bad[at] = static_cast<char>(bad[at] ^ 0x55);
    for (const std::string& text : {bad, whole.substr(0, at)}) {
      write_file_atomically(root + ".unstarve-index", text, Durability::kRenamed);
      const Found found = open_listing(root);
      INFO("offset " << at);
      CHECK(found.names == expected);
      if (found.cached) {
        CHECK(whole[at] == 0);  // padding, or the fingerprint, which is unused for folders
      } else {
        CHECK(read_text_file(root + ".unstarve-index") == whole);
      }
    }
  }
}

TEST_CASE("a process killed while it writes leaves the old listing, the new one or none") {
  TemporaryFolder folder;
  make_set(folder);
  const std::string root = folder.str("set");
  for (int round = 0; round < 20; ++round) {
    folder.write("set/dog/" + std::to_string(round) + ".jpg", "x");
    int pipe[2];
    REQUIRE(::pipe(pipe) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) {
        fs::remove(root + ".unstarve-index");
        (void)open_listing(root);
        (void)!::write(pipe[1], "x", 1);
      }
    }
    char begun = 0;
    for (int i = 0; i <= round % 4; ++i) REQUIRE(::read(pipe[0], &begun, 1) == 1);
    REQUIRE(::kill(child, SIGKILL) == 0);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    ::close(pipe[0]);
    ::close(pipe[1]);
    const std::vector<std::string> names = open_listing(root).names;
    CHECK(open_listing(root).cached);
    CHECK(names == scanned_again(folder));
  }
}

TEST_CASE("a listing that cannot be cached anywhere is a note and a notice") {
  TemporaryFolder folder;
  make_set(folder);
  // Folders block the paths of the cache files: this works even if the test runs as root.
  fs::create_directories(folder.path() / "set.unstarve-index/x");
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const std::string before = cache == nullptr ? "" : cache;
  folder.write("file", "");
  ::setenv("XDG_CACHE_HOME", folder.str("file").c_str(), 1);
  std::string notice;
  set_notice_sink([&](const std::string& text) { notice += text; });
  const ImageFolder data(folder.str("set"), an_hour_later());
  REQUIRE(data.notes().size() == 1);  // waits for the background task
  set_notice_sink({});
  CHECK_THAT(data.notes()[0], Catch::Contains("the index of " + folder.str("set") + " cannot be saved"));
  CHECK(notice == data.notes()[0]);
  CHECK(data.size() == 7);

  // A writable cache folder is used if the path next to the folder is not writable.
  folder.folder("cache");
  ::setenv("XDG_CACHE_HOME", folder.str("cache").c_str(), 1);
  CHECK(ImageFolder(folder.str("set"), an_hour_later()).notes().empty());
  CHECK(open_listing(folder.str("set")).cached);
  if (cache == nullptr) {
    ::unsetenv("XDG_CACHE_HOME");
  } else {
    ::setenv("XDG_CACHE_HOME", before.c_str(), 1);
  }
}

#if !defined(__SANITIZE_THREAD__)
TEST_CASE("a child forked while a listing is being cached exits without waiting, and the parent continues") {
  TemporaryFolder folder;
  make_set(folder);
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const std::string before = cache == nullptr ? "" : cache;
  ::setenv("XDG_CACHE_HOME", folder.str("far/7.jpg").c_str(), 1);  // a file: caching fails with a notice ...
  fs::create_directories(folder.path() / "set.unstarve-index/x");
  std::latch noticed(1), forked(1);
  set_notice_sink([&](const std::string&) {
    noticed.count_down();
    forked.wait();  // ... that blocks here
  });
  auto data = std::make_unique<const ImageFolder>(folder.str("set"), an_hour_later());
  noticed.wait();
  CHECK(data->size() == 7);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // a hang ends as a signal
    const bool known = !data->notes().empty();
    data.reset();
    ::_exit(known ? 1 : 0);
  }
  forked.count_down();
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(data->notes().size() == 1);
  set_notice_sink({});
  if (cache == nullptr) {
    ::unsetenv("XDG_CACHE_HOME");
  } else {
    ::setenv("XDG_CACHE_HOME", before.c_str(), 1);
  }
}
#endif

}  // namespace
}  // namespace unstarve
