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

// Everything is old an hour from now, and kept however few files there are.
ListingOptions an_hour_later() { return {0, kKeptLinks, wall_clock_ns() + 3'600'000'000'000}; }

struct Found {
  std::vector<std::string> names;  // "class/file"
  bool taken;
};

Found open_listing(const std::string& root, const ListingOptions& options = an_hour_later()) {
  const ImageFolder data(root, options);
  Found found{{}, data.listing().taken()};
  for (std::uint64_t id = 0; id < data.size(); ++id) found.names.push_back(data.location(id).substr(root.size() + 1));
  return found;
}

void put(const fs::path& file) { write_file_atomically(file, "x", Durability::kRenamed); }

// What a listing that is made now holds, whatever was kept.
std::vector<std::string> listed_anew(const TemporaryFolder& folder) {
  const std::string elsewhere = folder.str("anew");
  fs::remove(elsewhere);
  fs::create_directory_symlink(folder.path() / "set", elsewhere);
  fs::remove(folder.path() / "set.unstarve-index");
  const Found found = open_listing(elsewhere, {~std::uint64_t{0}, 0, 0});
  REQUIRE(!found.taken);
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

TEST_CASE("a kept listing is taken and says the same") {
  TemporaryFolder folder;
  make_set(folder);
  const std::string root = folder.str("set");
  const Found first = open_listing(root);
  CHECK(!first.taken);
  CHECK(first.names == std::vector<std::string>{"cat/1.jpg", "cat/2.jpg", "cat/link.jpg", "cat/deep/3.jpg", "dog/4.png",
                                                "linked/5.jpg", "linked/sub/6.jpg"});
  CHECK(fs::exists(root + ".unstarve-index"));
  const Found second = open_listing(root);
  CHECK(second.taken);
  CHECK(second.names == first.names);
  CHECK(open_listing(root + "/../set").taken);
  const ImageFolder data(root, an_hour_later());
  CHECK(data.classes() == std::vector<std::string>{"cat", "dog", "linked"});
  RecordBuffer record;
  data.read(4, record);
  CHECK(record.values[1].integer == 1);
  CHECK(std::string(record.values[0].bytes.begin(), record.values[0].bytes.end()) == "set/dog/4.png");
}

// The clock of the file system need not have moved on between the listing and the change: that the times differ is what
// is tested, so nothing is slept over and every change comes as soon as it can.
TEST_CASE("whatever changes in the folders makes the listing stale at once") {
  const std::vector<std::pair<const char*, std::function<void(const fs::path&)>>> changes = {
      {"file added", [](const fs::path& at) { put(at / "set/cat/0.jpg"); }},
      {"file added deeper", [](const fs::path& at) { put(at / "set/cat/deep/0.jpg"); }},
      {"file added behind a link", [](const fs::path& at) { put(at / "elsewhere/sub/0.jpg"); }},
      {"file removed", [](const fs::path& at) { fs::remove(at / "set/cat/1.jpg"); }},
      {"file renamed", [](const fs::path& at) { fs::rename(at / "set/cat/1.jpg", at / "set/cat/9.jpg"); }},
      {"file moved", [](const fs::path& at) { fs::rename(at / "set/cat/1.jpg", at / "set/dog/1.jpg"); }},
      {"file became a folder",
       [](const fs::path& at) {
         fs::remove(at / "set/cat/1.jpg");
         fs::create_directory(at / "set/cat/1.jpg");
       }},
      {"class added", [](const fs::path& at) { fs::create_directory(at / "set/ant"); }},
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
      {"link to a folder leads elsewhere",
       [](const fs::path& at) {
         fs::rename(at / "elsewhere", at / "old");
         fs::create_directory(at / "elsewhere");
         put(at / "elsewhere/8.jpg");
       }},
      {"link to a file leads to a folder",
       [](const fs::path& at) {
         fs::remove(at / "far/7.jpg");
         fs::create_directory(at / "far/7.jpg");
         put(at / "far/7.jpg/in.jpg");
       }},
      {"broken link leads to a folder",
       [](const fs::path& at) {
         fs::create_directory(at / "nowhere");
         put(at / "nowhere/8.jpg");
       }},
      {"broken link leads to a class", [](const fs::path& at) { fs::create_directory(at / "nowhere"); }},
  };
  for (const auto& [name, change] : changes) {
    INFO(name);
    TemporaryFolder folder;
    make_set(folder);
    const std::string root = folder.str("set");
    (void)open_listing(root);
    REQUIRE(open_listing(root).taken);
    change(folder.path());
    const Found found = open_listing(root);
    CHECK(!found.taken);
    CHECK(open_listing(root).taken);  // made again
    CHECK(found.names == listed_anew(folder));
  }
}

TEST_CASE("what says nothing about names keeps a listing good") {
  TemporaryFolder folder;
  make_set(folder);
  (void)open_listing(folder.str("set"));
  folder.write("set/cat/1.jpg", "other content, as long as it likes");
  folder.write("beside/1.jpg", "x");
  CHECK(open_listing(folder.str("set")).taken);
}

TEST_CASE("a listing of times that the clock may still stand at is not kept") {
  TemporaryFolder folder;
  make_set(folder);
  struct stat status {};
  REQUIRE(::stat(folder.str("set/cat").c_str(), &status) == 0);
  const std::int64_t changed =
      static_cast<std::int64_t>(status.st_ctim.tv_sec) * 1'000'000'000 + status.st_ctim.tv_nsec;
  const std::int64_t now = GENERATE_COPY(changed - 3'600'000'000'000, changed, changed + 1'999'999'999);
  CHECK(!open_listing(folder.str("set"), {0, kKeptLinks, now}).taken);
  CHECK(!fs::exists(folder.str("set.unstarve-index")));
}

TEST_CASE("a folder whose time was set back is listed again") {
  TemporaryFolder folder;
  make_set(folder);
  const fs::path cat = folder.path() / "set/cat";
  const auto before = fs::last_write_time(cat);
  (void)open_listing(folder.str("set"));
  fs::rename(cat / "1.jpg", cat / "9.jpg");
  fs::last_write_time(cat, before);
  const Found found = open_listing(folder.str("set"));
  CHECK(!found.taken);
  CHECK(found.names == listed_anew(folder));
}

TEST_CASE("folders without a time are not kept") {
  TemporaryFolder folder;
  make_set(folder);
  fs::last_write_time(folder.path() / "set/dog",
                      fs::file_time_type(std::chrono::file_clock::from_sys(std::chrono::system_clock::time_point{})));
  (void)open_listing(folder.str("set"));
  CHECK(!fs::exists(folder.str("set.unstarve-index")));
}

TEST_CASE("small folders, and those of many links to files, are listed every time") {
  TemporaryFolder folder;
  make_set(folder);
  const ListingOptions usual{kKeptFiles, kKeptLinks, an_hour_later().now_ns};
  (void)open_listing(folder.str("set"), usual);
  CHECK(!fs::exists(folder.str("set.unstarve-index")));
  ListingOptions few_links = an_hour_later();
  few_links.most_links = 1;  // there are two
  (void)open_listing(folder.str("set"), few_links);
  CHECK(!fs::exists(folder.str("set.unstarve-index")));
  few_links.most_links = 2;
  (void)open_listing(folder.str("set"), few_links);
  CHECK(fs::exists(folder.str("set.unstarve-index")));
}

TEST_CASE("a damaged or cut file of a kept listing is made again") {
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
      if (found.taken) {
        CHECK(whole[at] == 0);  // filling, or the fingerprint that a folder does not have
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
    CHECK(open_listing(root).taken);
    CHECK(names == listed_anew(folder));
  }
}

TEST_CASE("a listing that cannot be kept anywhere is a note and a notice") {
  TemporaryFolder folder;
  make_set(folder);
  // Folders stand where the files would have to: root's permissions do not matter then.
  fs::create_directories(folder.path() / "set.unstarve-index/x");
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const std::string before = cache == nullptr ? "" : cache;
  folder.write("file", "");
  ::setenv("XDG_CACHE_HOME", folder.str("file").c_str(), 1);
  std::string told;
  set_notice_sink([&](const std::string& text) { told += text; });
  const ImageFolder data(folder.str("set"), an_hour_later());
  REQUIRE(data.notes().size() == 1);  // waits until it is known
  set_notice_sink({});
  CHECK_THAT(data.notes()[0], Catch::Contains("the index of " + folder.str("set") + " cannot be kept"));
  CHECK(told == data.notes()[0]);
  CHECK(data.size() == 7);

  // A cache folder that can be written takes what cannot lie beside the folder.
  folder.folder("cache");
  ::setenv("XDG_CACHE_HOME", folder.str("cache").c_str(), 1);
  CHECK(ImageFolder(folder.str("set"), an_hour_later()).notes().empty());
  CHECK(open_listing(folder.str("set")).taken);
  if (cache == nullptr) {
    ::unsetenv("XDG_CACHE_HOME");
  } else {
    ::setenv("XDG_CACHE_HOME", before.c_str(), 1);
  }
}

#if !defined(__SANITIZE_THREAD__)
TEST_CASE("a fork made while a listing is being kept ends without it, and the opener goes on meanwhile") {
  TemporaryFolder folder;
  make_set(folder);
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const std::string before = cache == nullptr ? "" : cache;
  ::setenv("XDG_CACHE_HOME", folder.str("far/7.jpg").c_str(), 1);  // a file: nothing can be kept, which is told ...
  fs::create_directories(folder.path() / "set.unstarve-index/x");
  std::latch told(1), forked(1);
  set_notice_sink([&](const std::string&) {
    told.count_down();
    forked.wait();  // ... and held here
  });
  auto data = std::make_unique<const ImageFolder>(folder.str("set"), an_hour_later());
  told.wait();
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
