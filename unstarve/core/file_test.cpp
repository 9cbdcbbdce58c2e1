#include "unstarve/core/file.h"

#include <sys/stat.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/testing/file_size_limit.h"

using namespace unstarve;
namespace fs = std::filesystem;
using Catch::Matchers::Contains;

namespace {

// A temporary folder, removed with its contents.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "unstarve-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw io_error("mkdtemp", name, errno);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] fs::path operator/(const char* name) const { return path_ / name; }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(path_)) found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  fs::path path_;
};

}  // namespace

TEST_CASE("any bytes written are read back") {
  const Folder folder;
  const std::string text("a\0b\r\n\xff", 6);
  for (const std::string& contents : {std::string(), text, std::string(100000, 'x')}) {
    write_file_atomically(folder / "file", contents);
    CHECK(read_text_file(folder / "file") == contents);
    const MappedFile map(folder / "file");
    CHECK(std::string(map.bytes().begin(), map.bytes().end()) == contents);
  }
  CHECK(folder.names() == std::vector<std::string>{"file"});
}

TEST_CASE("files of unknown size are read to their end") {
  CHECK_THAT(read_text_file("/proc/self/status"), Contains("Cpus_allowed_list:"));
}

TEST_CASE("a missing file is reported with operation, path and reason") {
  const Folder folder;
  const std::string path = (folder / "none").string();
  CHECK_THROWS_WITH(read_text_file(path), "open " + path + ": No such file or directory");
  CHECK_THROWS_WITH(MappedFile(path), "open " + path + ": No such file or directory");
  CHECK_THROWS_WITH(write_file_atomically(path + "/inside", "x"),
                    "write " + path + "/inside: No such file or directory");
}

TEST_CASE("a folder is rejected as a file") {
  const Folder folder;
  const std::string path = (folder / "").string();
  CHECK_THROWS_WITH(read_text_file(path), "read " + path + ": Is a directory");
  CHECK_THROWS_WITH(MappedFile(path), "map " + path + ": Is a directory");
  CHECK_THROWS_WITH(write_file_atomically(path, "x"), "write " + path + ": Is a directory");
}

// Processes of two containers that share a folder may have the same number.
TEST_CASE("the unfinished file of another process with the same number remains") {
  const fs::path folder = fs::temp_directory_path() / ("unstarve-file-test-partial-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const fs::path path = folder / "index";
  std::vector<fs::path> theirs;
  for (int serial = 0; serial < 200; ++serial) {
    theirs.push_back(path.string() + ".partial-" + std::to_string(::getpid()) + "-" + std::to_string(serial));
    std::ofstream(theirs.back()) << "theirs";
  }
  write_file_atomically(path, "ours");
  CHECK(read_text_file(path) == "ours");
  for (const fs::path& partial : theirs) CHECK(read_text_file(partial) == "theirs");
  fs::remove_all(folder);
}

TEST_CASE("a full disk leaves the old file and no partial file") {
  const Folder folder;
  const std::string path = (folder / "report.html").string();
  for (const bool existed : {false, true}) {
    if (existed) write_file_atomically(path, "old");
    {
      const testing::FileSizeLimit limit(4096);
      CHECK_THROWS_WITH(
          write_file_atomically(path, std::string(10000, 'x')),
          "write " + path + ": File too large after 4096 bytes; the limit of file sizes (RLIMIT_FSIZE) is 4096 bytes");
    }
    CHECK(folder.names() == (existed ? std::vector<std::string>{"report.html"} : std::vector<std::string>{}));
    if (existed) CHECK(read_text_file(path) == "old");
  }
}

TEST_CASE("a full device is reported with its reason and not replaced by a file") {
  CHECK_THROWS_WITH(write_file_atomically("/dev/full", "x"), "write /dev/full: No space left on device");
  write_file_atomically("/dev/null", "x");
  std::array<int, 2> ends{};  // as /dev/stdout of a program in a pipeline: a link to a pipe without a path
  REQUIRE(::pipe(ends.data()) == 0);
  write_file_atomically("/proc/self/fd/" + std::to_string(ends[1]), "text");
  std::array<char, 8> got{};
  CHECK(::read(ends[0], got.data(), got.size()) == 4);
  CHECK(std::string(got.data()) == "text");
  ::close(ends[0]);
  ::close(ends[1]);
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("a link is preserved and its target replaced") {
  const Folder folder;
  write_file_atomically(folder / "target", "old");
  fs::create_symlink("target", folder / "link");
  write_file_atomically(folder / "link", "new");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(read_text_file(folder / "target") == "new");
  fs::create_symlink("later", folder / "dangling");
  write_file_atomically(folder / "dangling", "made");
  CHECK(read_text_file(folder / "later") == "made");
  CHECK(folder.names() == std::vector<std::string>{"dangling", "later", "link", "target"});
  fs::create_symlink("round", folder / "round");
  CHECK_THROWS_AS(write_file_atomically(folder / "round", "x"), Error);
}

TEST_CASE("readers of a file under concurrent rewriting see complete versions only") {
  const Folder folder;
  const fs::path path = folder / "file";
  write_file_atomically(path, std::string(5000, 'a'));
  {
    std::vector<std::jthread> writers;
    for (const char c : {'a', 'b', 'c'}) {
      writers.emplace_back([&, c] {
        for (int i = 0; i < 20; ++i) write_file_atomically(path, std::string(5000, c));
      });
    }
    for (int i = 0; i < 50; ++i) {
      const std::string seen = read_text_file(path);
      CHECK(seen == std::string(5000, seen.at(0)));
    }
  }
  CHECK(folder.names() == std::vector<std::string>{"file"});
}

TEST_CASE("a mapped file can be moved") {
  const Folder folder;
  write_file_atomically(folder / "one", "1");
  write_file_atomically(folder / "two", "22");
  MappedFile one(folder / "one");
  MappedFile moved(std::move(one));
  CHECK(moved.bytes().size() == 1);
  moved = MappedFile(folder / "two");
  CHECK(moved.bytes().size() == 2);
  CHECK(moved.bytes()[1] == '2');
}
