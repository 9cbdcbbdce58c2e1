#include "unstarve/storage/index/index_paths.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kDay = 24 * 3600 * kSecond;
constexpr std::int64_t kNow = 20'000 * kDay;

void set_age(const fs::path& path, std::int64_t age_ns, std::int64_t now_ns = kNow) {
  const std::int64_t then = now_ns - age_ns;
  const timespec times[2] = {{then / kSecond, then % kSecond}, {then / kSecond, then % kSecond}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

struct Cache {
  testing::TemporaryFolder folder;

  void add(const std::string& name, std::int64_t age_ns, std::size_t bytes = 4096) const {
    folder.write(name, std::string(bytes, 'x'));
    set_age(folder.path() / name, age_ns);
  }
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder.path())) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("indexes unused for long are evicted, other files are not", "[storage]") {
  const Cache cache;
  cache.add("new.unstarve-index", 0);
  cache.add("old.unstarve-index", 89 * kDay);
  cache.add("older.tar.unstarve-index", 91 * kDay);
  cache.add("begun.unstarve-index.partial-1-0", 2 * kDay);
  cache.add("beginning.unstarve-index.partial-2-0", kDay / 2);
  cache.add("mine.txt", 1000 * kDay);
  cache.add("x.unstarve-index.backup", 1000 * kDay);
  cache.folder.folder("folder.unstarve-index");
  set_age(cache.folder.path() / "folder.unstarve-index", 1000 * kDay);
  prune_index_cache(cache.folder.path(), {}, kNow);
  CHECK(cache.left() == Names{"beginning.unstarve-index.partial-2-0", "folder.unstarve-index", "mine.txt",
                              "new.unstarve-index", "old.unstarve-index", "x.unstarve-index.backup"});
  prune_index_cache(cache.folder.path() / "none", {}, kNow);
}

TEST_CASE("above the limit the least recently used are evicted, but none used today", "[storage]") {
  const Cache cache;
  for (int age = 2; age <= 9; ++age) cache.add("d" + std::to_string(age) + ".unstarve-index", age * kDay, 100'000);
  IndexCacheRule rule;
  rule.max_bytes = 350'000;
  prune_index_cache(cache.folder.path(), rule, kNow);
  CHECK(cache.left() == Names{"d2.unstarve-index", "d3.unstarve-index", "d4.unstarve-index"});
  for (const char* const name : {"a", "b", "c", "d"}) cache.add(name + std::string(".unstarve-index"), 0, 100'000);
  prune_index_cache(cache.folder.path(), rule, kNow);
  CHECK(cache.left() == Names{"a.unstarve-index", "b.unstarve-index", "c.unstarve-index", "d.unstarve-index"});
}

TEST_CASE("reading an index marks it as used in the cache folder, not next to data", "[storage]") {
  const testing::TemporaryFolder home;
  const char* const before = std::getenv("XDG_CACHE_HOME");
  const std::string saved = before == nullptr ? "" : before;
  ::setenv("XDG_CACHE_HOME", home.str().c_str(), 1);
  REQUIRE(index_cache_folder() == home.path() / "unstarve" / "index");
  const std::int64_t now = wall_clock_ns();
  const auto age_after_use = [&](const std::string& name, std::int64_t age_ns) {
    home.write(name, "x");
    set_age(home.path() / name, age_ns, now);
    mark_index_used(home.path() / name);
    struct stat status {};
    REQUIRE(::stat((home.path() / name).c_str(), &status) == 0);
    return now - (status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec);
  };
  CHECK(age_after_use("unstarve/index/a.unstarve-index", 50 * kDay) < kDay / 24);
  CHECK(age_after_use("unstarve/index/b.unstarve-index", kDay / 2) == kDay / 2);  // at most once a day
  CHECK(age_after_use("data/c.unstarve-index", 50 * kDay) == 50 * kDay);
  mark_index_used(home.path() / "unstarve/index/none.unstarve-index");
  if (before == nullptr)
    ::unsetenv("XDG_CACHE_HOME");
  else
    ::setenv("XDG_CACHE_HOME", saved.c_str(), 1);
}

// Indexes of earlier versions are found only under their names.
TEST_CASE("the name of an index in the cache folder never changes", "[storage]") {
  const testing::TemporaryFolder home;
  const char* const before = std::getenv("XDG_CACHE_HOME");
  const std::string saved = before == nullptr ? "" : before;
  ::setenv("XDG_CACHE_HOME", home.str().c_str(), 1);
  const auto name = [](const std::string& data, const std::string& variant) {
    return index_paths(data, variant).back().filename().string();
  };
  CHECK(name("/data/train-0.tar", "") == "6370a5110c7dc56f-train-0.tar.unstarve-index");
  CHECK(name("/data/train-0.tar", "v1") == "6370a5110c7dc56f-train-0.tar.08cf0b07.unstarve-index");
  if (before == nullptr)
    ::unsetenv("XDG_CACHE_HOME");
  else
    ::setenv("XDG_CACHE_HOME", saved.c_str(), 1);
}

TEST_CASE("an unknown value of UNSTARVE_INDEX is an error", "[storage]") {
  const testing::TemporaryFolder folder;
  const char* const before = std::getenv("UNSTARVE_INDEX");
  const std::string saved = before == nullptr ? "" : before;
  ::setenv("UNSTARVE_INDEX", "data", 1);
  CHECK_THAT(testing::error_message([&] { return index_paths(folder.str("x.tar")); }, ErrorKind::kArgument),
             Catch::Contains("UNSTARVE_INDEX: found 'data'; expected next_to_data"));
  ::setenv("UNSTARVE_INDEX", "", 1);
  CHECK_NOTHROW(index_paths(folder.str("x.tar")));
  if (before == nullptr)
    ::unsetenv("UNSTARVE_INDEX");
  else
    ::setenv("UNSTARVE_INDEX", saved.c_str(), 1);
}

}  // namespace unstarve
