#include "unstarve/storage/formats/folder/image_folder.h"

#include <sys/stat.h>

#include <filesystem>
#include <optional>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/conformance.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using testing::error_message, testing::TemporaryFolder;
namespace fs = std::filesystem;

// File contents are not decoded here: any bytes do.
std::string name_of(std::uint64_t i) { return (i % 3 == 0 ? "cat/" : "dog/") + std::to_string(i) + ".jpg"; }

std::string text_of(const Dataset& data, std::uint64_t id) {
  RecordBuffer record;
  data.read(id, record);
  return {reinterpret_cast<const char*>(record.values[0].bytes.data()), record.values[0].bytes.size()};
}

std::vector<std::string> locations(const Dataset& data, const std::string& root) {
  std::vector<std::string> all;
  for (std::uint64_t id = 0; id < data.size(); ++id) all.push_back(data.location(id).substr(root.size() + 1));
  return all;
}

TEST_CASE("an image folder passes the conformance suite") {
  std::optional<TemporaryFolder> folder;
  std::shared_ptr<const Dataset> last;
  folder.emplace();
  std::uint64_t written = 0;
  testing::DatasetUnderTest test;
  test.make = [&](std::uint64_t samples) {
    if (samples != written) folder.emplace();
    written = samples;
    folder->folder("cat");
    folder->folder("dog");
    for (std::uint64_t i = 0; i < samples; ++i)
      folder->write(name_of(i), "image " + std::string(i * 100, 'x') + name_of(i));
    last = open_dataset(folder->str());
    return last;
  };
  SECTION("removed file") {
    test.damage = [&](std::uint64_t id) {
      fs::remove(last->location(id));
      return last->location(id) + ": No such file or directory";
    };
    testing::check_dataset(test);
  }
  SECTION("emptied file") {
    test.damage = [&](std::uint64_t id) {
      fs::resize_file(last->location(id), 0);
      return last->location(id) + ": the file is empty (0 bytes)";
    };
    testing::check_dataset(test);
  }
  SECTION("file replaced by a pipe") {
    test.damage = [&](std::uint64_t id) {
      fs::remove(last->location(id));
      REQUIRE(::mkfifo(last->location(id).c_str(), 0600) == 0);
      return last->location(id) + ": not a regular file";
    };
    testing::check_dataset(test);
  }
}

TEST_CASE("classes and files are ordered bytewise, by folder path and then by file name") {
  TemporaryFolder folder;
  for (const char* name :
       {"b/2.jpg", "b/10.jpg", "b/1.PNG", "B/x.Jpeg", "b/sub/0.jpg", "b/1.jpg/in.jpg", "a/z.jpg", "a/y.WebP"}) {
    folder.write(name, name);
  }
  const ImageFolder data(folder.str());
  CHECK(data.classes() == std::vector<std::string>{"B", "a", "b"});
  CHECK(locations(data, folder.str()) == std::vector<std::string>{"B/x.Jpeg", "a/y.WebP", "a/z.jpg", "b/1.PNG",
                                                                  "b/10.jpg", "b/2.jpg", "b/1.jpg/in.jpg",
                                                                  "b/sub/0.jpg"});
  for (std::uint64_t id = 0; id < data.size(); ++id) CHECK(text_of(data, id) == locations(data, folder.str())[id]);
}

TEST_CASE("hidden files, other files and files outside class folders are skipped") {
  TemporaryFolder folder;
  for (const char* name : {"a/1.jpg", "a/._1.jpg", "a/.hidden/2.jpg", "a/notes.txt", "a/jpg", "a/.jpg", "a/3.jpg.part",
                           "top.jpg", "README.md", ".git/x.jpg", "__MACOSX/a/1.jpg", "@eaDir/2.jpg", "lost+found/3.jpg",
                           "a/@eaDir/1.jpg/thumbnail.jpg"}) {
    folder.write(name, name);
  }
  const ImageFolder data(folder.str());
  CHECK(data.classes() == std::vector<std::string>{"a"});
  CHECK(locations(data, folder.str()) == std::vector<std::string>{"a/1.jpg"});
}

TEST_CASE("a class folder without images keeps its number and is reported") {
  TemporaryFolder folder;
  folder.write("0/list.xml", "x");
  folder.write("a/1.bmp", "x");
  folder.write("b/1.jpg", "x");
  folder.folder("c/deep");
  std::string notices;
  set_notice_sink([&](const std::string& text) { notices += text + "\n"; });
  const ImageFolder data(folder.str());
  set_notice_sink({});
  CHECK(data.classes() == std::vector<std::string>{"0", "a", "b", "c"});
  CHECK_THAT(notices, Catch::Contains("found folders without images, which have class numbers (2, for example 0); "
                                      "expected images in every class folder"));
  RecordBuffer record;
  data.read(0, record);
  CHECK(record.values[1].integer == 2);
  CHECK(data.location(0) == folder.str("b/1.jpg"));
}

TEST_CASE("links are followed and loops end") {
  TemporaryFolder folder;
  folder.write("elsewhere/deep/1.jpg", "one");
  folder.write("elsewhere/2.jpg", "two");
  folder.folder("set/a");
  fs::create_directory_symlink(folder.str("elsewhere"), folder.str("set/b"));
  fs::create_symlink(folder.str("elsewhere/2.jpg"), folder.str("set/a/link.jpg"));
  fs::create_directory_symlink(folder.str("elsewhere"), folder.str("elsewhere/deep/loop"));
  fs::create_symlink(folder.str("nowhere"), folder.str("set/a/broken.jpg"));
  const ImageFolder data(folder.str("set"));
  CHECK(locations(data, folder.str("set")) ==
        std::vector<std::string>{"a/broken.jpg", "a/link.jpg", "b/2.jpg", "b/deep/1.jpg"});
  CHECK(text_of(data, 1) == "two");
  CHECK(text_of(data, 3) == "one");
  CHECK_THAT(error_message([&] { return text_of(data, 0); }, ErrorKind::kInput),
             Catch::Contains(folder.str("set/a/broken.jpg")));
}

TEST_CASE("a folder of splits requires a split") {
  TemporaryFolder folder;
  for (const char* name : {"train/a/1.jpg", "train/b/2.jpg", "test/a/3.jpg", "test/b/4.jpg", "README"}) {
    folder.write(name, name);
  }
  CHECK_THAT(error_message([&] { return open_dataset(folder.str()); }),
             Catch::Contains("the subfolders are splits (test, train)") &&
                 Catch::Contains("split=\"train\" (--split train), or open " + folder.str("train") + "."));
  CHECK_THAT(error_message([&] { return open_dataset(folder.str() + "/"); }),
             Catch::Contains("or open " + folder.str("train") + "."));
  CHECK(open_dataset(folder.str(), "test")->location(1) == folder.str("test/b/4.jpg"));
  CHECK(open_dataset(folder.str("train"))->classes() == std::vector<std::string>{"a", "b"});
  CHECK_THAT(error_message([&] { return open_dataset(folder.str(), "val"); }, ErrorKind::kArgument),
             Catch::Contains("no split 'val'; available: test, train"));
  CHECK_THAT(error_message([&] { return open_dataset(folder.str("train"), "train"); }, ErrorKind::kArgument),
             Catch::Contains("split 'train' is not available: the subfolders are classes"));
}

TEST_CASE("splits are found in any case of their names, next to other folders and splits without classes") {
  const auto [files, location] = GENERATE(table<std::vector<std::string>, std::string>({
      {{"train/a/1.jpg", "train/b/2.jpg", "val/3.jpg", "test/4.jpg"}, "train/a/1.jpg"},
      {{"Test/a/1.jpg", "Train/a/2.jpg"}, "Train/a/2.jpg"},
      {{"training/a/1.jpg", "validation/a/2.jpg"}, "training/a/1.jpg"},
      {{"train/a/1.jpg", "val/a/2.jpg", "annotations/list.xml"}, "train/a/1.jpg"},
      {{"train/1.jpg", "test/2.jpg"}, "train/1.jpg"},
  }));
  TemporaryFolder folder;
  for (const std::string& name : files) folder.write(name, name);
  CHECK_THAT(error_message([&] { return open_dataset(folder.str()); }), Catch::Contains("the subfolders are splits"));
  const std::string split = location.substr(0, location.find('/'));
  CHECK(open_dataset(folder.str(), split)->location(0) == folder.str(location));
  CHECK(open_dataset(folder.str() + "/", lower(split))->location(0) == folder.str(location));
}

TEST_CASE("a requested split among other folders has class folders") {
  TemporaryFolder folder;
  for (const char* name : {"odd/a/1.jpg", "even/a/2.jpg", "boat/3.jpg"}) folder.write(name, name);
  CHECK(open_dataset(folder.str(), "odd")->location(0) == folder.str("odd/a/1.jpg"));
  CHECK_THAT(error_message([&] { return open_dataset(folder.str(), "boat"); }, ErrorKind::kArgument),
             Catch::Contains("split 'boat' is not available: the subfolders are classes"));
}

TEST_CASE("a class may be named train") {
  TemporaryFolder folder;
  folder.write("train/1.jpg", "x");
  CHECK(open_dataset(folder.str())->classes() == std::vector<std::string>{"train"});
  folder.write("boat/2.jpg", "x");
  folder.write("train/steam/3.jpg", "x");
  CHECK(open_dataset(folder.str())->classes() == std::vector<std::string>{"boat", "train"});
  folder.write("test/4.jpg", "x");
  CHECK(open_dataset(folder.str())->classes() == std::vector<std::string>{"boat", "test", "train"});
}

TEST_CASE("classes may be named train and test, with subfolders, next to a folder of images") {
  TemporaryFolder folder;
  for (const char* name : {"train/steam/1.jpg", "test/2.jpg", "boat/3.jpg"}) folder.write(name, name);
  CHECK(open_dataset(folder.str())->classes() == std::vector<std::string>{"boat", "test", "train"});
  folder.write("boat/deep/3.jpg", "x");
  std::filesystem::remove(folder.path() / "boat/3.jpg");
  CHECK_THAT(error_message([&] { return open_dataset(folder.str()); }),
             Catch::Contains("the subfolders are splits (test, train); expected"));
  CHECK_THAT(error_message([&] { return open_dataset(folder.str(), "val"); }, ErrorKind::kArgument),
             Catch::Contains("no split 'val'; available: test, train"));
}

TEST_CASE("a path that is too long is an error that names the path") {
  TemporaryFolder folder;
  const fs::path before = fs::current_path();
  folder.folder("set/a");
  fs::current_path(folder.path() / "set/a");
  const std::string part(250, 'd');
  for (int depth = 0; depth < 20; ++depth) {
    fs::create_directory(part);
    fs::current_path(part);
  }
  fs::current_path(before);
  CHECK_THAT(error_message([&] { ImageFolder data(folder.str("set")); }, ErrorKind::kIo),
             Catch::Contains("File name too long"));
}

}  // namespace
}  // namespace unstarve
