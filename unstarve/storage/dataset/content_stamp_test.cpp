#include "unstarve/storage/dataset/content_stamp.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>

#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST_CASE("the stamp of a folder changes with names and files") {
  const testing::TemporaryFolder folder;
  const fs::path data = folder.path() / "data";
  for (int i = 0; i < 5; ++i) write(data / "cat" / (std::to_string(i) + ".jpg"), "old");
  const auto stamp = [&] { return content_stamp(*open_dataset(data.string())); };
  std::set<std::uint64_t> seen{stamp()};
  CHECK(stamp() == *seen.begin());
  write(data / "cat" / "2.jpg", "newer");  // another size
  CHECK(seen.insert(stamp()).second);
  fs::last_write_time(data / "cat" / "3.jpg", fs::file_time_type::clock::now() + std::chrono::hours(1));
  CHECK(seen.insert(stamp()).second);
  fs::rename(data / "cat" / "0.jpg", data / "cat" / "7.jpg");
  CHECK(seen.insert(stamp()).second);
  fs::rename(data, folder.path() / "moved");
  CHECK(seen.insert(content_stamp(*open_dataset((folder.path() / "moved").string()))).second);
}

TEST_CASE("the stamp of a manifest changes with it") {
  const testing::TemporaryFolder folder;
  for (int i = 0; i < 2; ++i) write(folder.path() / (std::to_string(i) + ".jpg"), "old");
  const auto stamp = [&](const char* labels) {
    write(folder.path() / "list.csv", labels);
    return content_stamp(*open_dataset((folder.path() / "list.csv").string()));
  };
  const std::uint64_t first = stamp("path,label\n0.jpg,0\n1.jpg,1\n");
  CHECK(stamp("path,label\n0.jpg,10\n1.jpg,1\n") != first);
}

TEST_CASE("generated data has the stamp of its options") {
  const auto stamp = [](const char* name) { return content_stamp(*open_dataset(name)); };
  CHECK(stamp("synthetic:images=4,size=16") == stamp("synthetic:images=4,size=16"));
  CHECK(stamp("synthetic:images=4,size=16") != stamp("synthetic:images=4,size=16,seed=2"));
}

}  // namespace
}  // namespace unstarve
