#include "unstarve/storage/remote/cache/cache_usage.h"

#include <chrono>
#include <thread>

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve::remote {
namespace {

constexpr std::uint64_t kBlock = 4096, kLimit = 100 * kBlock;

// An entry of one block that was used `age` ago.
void add_entry(testing::TemporaryFolder& folder, const std::string& name, std::chrono::seconds age) {
  folder.write(name, std::string(kBlock, 'x'));
  std::filesystem::last_write_time(folder.path() / name, std::filesystem::file_time_type::clock::now() - age);
}

}  // namespace

TEST_CASE("space is reserved up to the limit, and unused space is returned") {
  testing::TemporaryFolder folder;
  CacheBypass bypass(nullptr);
  CacheUsage usage(folder.path(), kLimit, bypass);
  CHECK(usage.bytes() == 0);
  CHECK_FALSE(usage.reserve(11 * kBlock));  // more than a tenth
  for (int i = 0; i < 10; ++i) CHECK(usage.reserve(10 * kBlock));
  CHECK(usage.bytes() == kLimit);
  CHECK_FALSE(usage.reserve(kBlock));  // nothing to evict
  usage.finish_write(4 * kBlock);
  CHECK(usage.reserve(4 * kBlock));
  usage.finish_write(0);
  usage.give_back(10 * kBlock);
  CHECK(usage.bytes() == kLimit - 10 * kBlock);
  CHECK_FALSE(bypass.active());
}

TEST_CASE("the least recently used entries are evicted until a tenth of the limit is free") {
  testing::TemporaryFolder folder;
  for (int i = 0; i < 100; ++i) add_entry(folder, "ab/" + std::to_string(i) + "-4000", std::chrono::seconds(1000 - i));
  folder.write("ab/other", "not an entry");
  CacheBypass bypass(nullptr);
  CacheUsage usage(folder.path(), kLimit, bypass);  // without a usage file: counts the entries
  CHECK(usage.bytes() == kLimit);
  CHECK(usage.reserve(2 * kBlock));
  CHECK(usage.bytes() == kLimit - 10 * kBlock);
  for (int i = 0; i < 100; ++i) {
    CHECK(std::filesystem::exists(folder.path() / ("ab/" + std::to_string(i) + "-4000")) == (i >= 12));
  }
  CHECK(std::filesystem::exists(folder.path() / "ab/other"));
}

TEST_CASE("caches of one folder share their usage") {
  testing::TemporaryFolder folder;
  CacheBypass bypass(nullptr);
  CacheUsage one(folder.path(), kLimit, bypass), other(folder.path(), kLimit, bypass);
  CHECK(one.reserve(10 * kBlock));
  CHECK(other.reserve(10 * kBlock));
  CHECK(one.bytes() == 20 * kBlock);
}

TEST_CASE("threads that reserve and return space leave none reserved") {
  testing::TemporaryFolder folder;
  CacheBypass bypass(nullptr);
  CacheUsage usage(folder.path(), kLimit, bypass);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i)
          if (usage.reserve(10 * kBlock)) usage.finish_write(10 * kBlock);
      });
    }
  }
  CHECK(usage.bytes() == 0);
}

TEST_CASE("a folder that cannot be created is an error") {
  testing::TemporaryFolder folder;
  folder.write("file", "x");
  CacheBypass bypass(nullptr);
  CHECK_THROWS_AS(CacheUsage(folder.path() / "file" / "cache", kLimit, bypass), Error);
}

}  // namespace unstarve::remote
