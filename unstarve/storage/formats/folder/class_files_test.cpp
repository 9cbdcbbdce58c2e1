#include "unstarve/storage/formats/folder/class_files.h"

#include <fcntl.h>

#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "unstarve/storage/source/folder_scan.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

std::vector<std::string> listed(const std::string& root) {
  const FileDescriptor folder = open_folder(AT_FDCWD, root, root);
  const ClassFiles files = list_class(folder.get(), root, "class");
  std::vector<std::string> names;
  for (const std::uint64_t name : files.names) names.emplace_back(files.pool.data() + name);
  return names;
}

// Uses two letters, so that many names share more than eight bytes; one letter is negative as char.
std::string random_stem(std::mt19937& random, std::size_t max_length) {
  const std::string letters = "a\xff";
  std::string stem;
  for (std::size_t length = 1 + random() % max_length; stem.size() < length;)
    stem.push_back(letters[random() % letters.size()]);
  return stem;
}

TEST_CASE("files are sorted bytewise for any names") {
  std::mt19937 random(20);
  const testing::TemporaryFolder folder;
  for (const std::string prefix : {"", "n01440764_", "a common beginning of more than eight bytes "})
    for (const std::size_t max_length : {std::size_t{2}, std::size_t{9}, std::size_t{30}})
      for (const std::size_t count : {1u, 2u, 300u}) {
        const std::string below = "set " + prefix + std::to_string(max_length) + "-" + std::to_string(count);
        std::set<std::string> expected;  // std::string compares bytewise, as unsigned
        for (std::size_t i = 0; i < count; ++i) expected.insert(prefix + random_stem(random, max_length) + ".jpg");
        for (const std::string& name : expected) folder.write(below + "/class/" + name, "x");
        CHECK(listed(folder.str(below)) == std::vector<std::string>(expected.begin(), expected.end()));
      }
}

}  // namespace
}  // namespace unstarve
