#include "unstarve/storage/index/packed_shards.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using testing::TemporaryFolder;
using Names = std::vector<std::string>;

constexpr const char* kManifest =
    R"({"unstarve": "1", "classes": ["cat", "dog"], "shards": [{"file": "a.tar"}, {"file": "b.tar"}]})";

TEST_CASE("the manifest of a packed folder has its class names") {
  TemporaryFolder folder;
  const Names both{folder.str("a.tar"), folder.str("b.tar")};
  CHECK(pack_classes(both).empty());
  folder.write("manifest.json", kManifest);
  CHECK(pack_classes(both) == Names{"cat", "dog"});
  CHECK(pack_classes(Names{folder.str("b.tar")}) == Names{"cat", "dog"});
  CHECK(pack_classes({}).empty());
  CHECK(pack_classes(Names{"https://host/a.tar?signature=x"}).empty());
}

TEST_CASE("a manifest of other shards, of another program or without valid contents names no classes") {
  TemporaryFolder folder;
  folder.write("manifest.json", kManifest);
  CHECK(pack_classes(Names{folder.str("a.tar"), folder.str("c.tar")}).empty());
  folder.write("other/b.tar", "");
  CHECK(pack_classes(Names{folder.str("a.tar"), folder.str("other/b.tar")}).empty());
  for (const char* text :
       {"", "{", "[]", "3", R"({"classes": ["a"], "shards": [{"file": "a.tar"}]})",
        R"({"unstarve": "1", "classes": ["a"], "shards": 3})", R"({"unstarve": "1", "shards": [{"file": "a.tar"}]})",
        R"({"unstarve": "1", "classes": ["a"], "shards": [{"file": 1}, {}, "a.tar"]})"}) {
    folder.write("manifest.json", text);
    CHECK(pack_classes(Names{folder.str("a.tar")}).empty());
  }
  folder.write("manifest.json", R"({"unstarve": "1", "classes": ["a", 2], "shards": [{"file": "a.tar"}]})");
  CHECK_THAT(testing::error_message([&] { return pack_classes(Names{folder.str("a.tar")}); }),
             Catch::Contains("manifest.json: class 1 is not a string"));
}

}  // namespace
}  // namespace unstarve
