#include "unstarve/storage/remote/cache/disk_cache.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/remote/cache/cache_entry.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve::remote {
namespace {

std::vector<std::uint8_t> pattern(std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(i * 2654435761u >> 13);
  return bytes;
}

// The bytes of all entries, from the file `usage` (cache_usage.h).
std::uint64_t usage_in(const std::filesystem::path& folder) {
  std::vector<std::uint8_t> bytes(8);
  std::ifstream file(folder / "usage", std::ios::binary);
  REQUIRE(file.read(reinterpret_cast<char*>(bytes.data()), 8));
  return load_little<std::uint64_t>(bytes.data());
}

std::string text_of(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

TEST_CASE("any part of an entry is readable, and a truncated entry is damaged") {
  testing::TemporaryFolder folder;
  const std::vector<std::uint8_t> bytes = pattern(2 * kCacheBlockBytes + 77);
  const Sha256 id = sha256("object");
  const std::vector<std::uint8_t> head = cache_entry_head(id, 1000, bytes);
  CHECK(head.size() == cache_entry_head_bytes(bytes.size()));
  folder.write("e", text_of(head) + text_of(bytes));
  const std::filesystem::path path = folder.path() / "e";
  for (const std::size_t from : {0ul, 1ul, 65535ul, 65536ul, 131072ul, bytes.size() - 1}) {
    for (const std::size_t count : {0ul, 1ul, 65536ul, 65537ul, bytes.size()}) {
      std::vector<std::uint8_t> out(std::min(count, bytes.size() - from));
      REQUIRE(read_cache_entry(path, id, {1000, bytes.size()}, {1000 + from, out}) == EntryRead::kRead);
      CHECK(std::equal(out.begin(), out.end(), bytes.begin() + static_cast<std::ptrdiff_t>(from)));
    }
  }
  std::vector<std::uint8_t> out(10);
  CHECK(read_cache_entry(path, sha256("other"), {1000, bytes.size()}, {1000, out}) == EntryRead::kDamaged);
  CHECK(read_cache_entry(path, id, {1001, bytes.size()}, {1001, out}) == EntryRead::kDamaged);
  CHECK(read_cache_entry(path, id, {1000, UINT64_MAX - 2000}, {1000, out}) == EntryRead::kDamaged);
  CHECK(read_cache_entry(folder.path() / "none", id, {1000, 10}, {1000, out}) == EntryRead::kAbsent);
  for (std::size_t length = 0; length < head.size() + 20; ++length) {
    folder.write("e",
                 text_of(head).substr(0, length) + std::string(length > head.size() ? length - head.size() : 0, 'x'));
    CHECK(read_cache_entry(path, id, {1000, bytes.size()}, {1000, out}) == EntryRead::kDamaged);
  }
}

TEST_CASE("stored ranges are served, also in part, and missing ranges are returned exactly") {
  testing::TemporaryFolder folder;
  const auto cache = std::make_shared<DiskCache>(folder.path() / "cache", 100 << 20, nullptr);
  const std::vector<std::uint8_t> bytes = pattern(1000);
  DiskCache::Object object(cache, "object");
  object.store(100, std::span(bytes).subspan(100, 50));
  object.store(200, std::span(bytes).subspan(200, 100));
  object.store(250, std::span(bytes).subspan(250, 100));  // overlaps
  std::vector<std::uint8_t> out(400);
  const auto missing = object.read({50, out});
  REQUIRE(missing.size() == 3);
  const std::uint64_t expected[][2] = {{50, 50}, {150, 50}, {350, 100}};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(missing[i].offset == expected[i][0]);
    CHECK(missing[i].out.size() == expected[i][1]);
    CHECK(missing[i].out.data() == out.data() + (missing[i].offset - 50));
  }
  for (std::size_t at = 50; at < 450; ++at) {
    const bool known = (at >= 100 && at < 150) || (at >= 200 && at < 350);
    CHECK(out[at - 50] == (known ? bytes[at] : 0));
  }
  // Another object has none of it; another view of the same object has it, including later additions.
  CHECK(DiskCache::Object(cache, "other").read({100, std::span(out).first(50)}).size() == 1);
  DiskCache::Object view(cache, "object");
  object.store(900, std::span(bytes).subspan(900, 10));
  CHECK(view.read({900, std::span(out).first(10)}).empty());
}

TEST_CASE("usage is correct after storing, damage and removal, and is recomputed when lost") {
  testing::TemporaryFolder folder;
  const std::vector<std::uint8_t> bytes = pattern(10'000);
  {
    const auto cache = std::make_shared<DiskCache>(folder.path(), 1 << 20, nullptr);
    CHECK(usage_in(folder.path()) == 0);
    DiskCache::Object object(cache, "object");
    for (std::uint64_t i = 0; i < 5; ++i) object.store(i * 10'000, bytes);
    object.store(0, bytes);
    CHECK(usage_in(folder.path()) == 5 * 12288);  // 68 bytes of head and 10,000 of data are three blocks
  }
  std::filesystem::resize_file(folder.path() / "usage", 3);
  const auto cache = std::make_shared<DiskCache>(folder.path(), 1 << 20, nullptr);
  CHECK(usage_in(folder.path()) == 5 * 12288);
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (file.path().filename() == "0-10000") std::filesystem::resize_file(file.path(), 100);
  }
  std::vector<std::uint8_t> out(10'000);
  DiskCache::Object object(cache, "object");
  CHECK(object.read({0, out}).size() == 1);
  CHECK(cache->statistics().damaged == 1);
  CHECK(usage_in(folder.path()) == 4 * 12288);
}

TEST_CASE("files of a killed process are removed by the next process that is alone") {
  testing::TemporaryFolder folder;
  const std::vector<std::uint8_t> bytes = pattern(10'000);
  const auto write_usage = [&](std::uint64_t usage, std::uint64_t writing) {
    std::string text;
    append_little(text, usage);
    append_little(text, writing);
    folder.write("usage", text);
  };
  {
    const auto cache = std::make_shared<DiskCache>(folder.path(), 1 << 20, nullptr);
    DiskCache::Object(cache, "object").store(0, bytes);
    folder.write("ab/.partial-1-1", "half");
    write_usage(12288 + 99999, 1);
    DiskCache other(folder.path(), 1 << 20, nullptr);  // not alone: another process may be writing
    CHECK(usage_in(folder.path()) == 12288 + 99999);
    CHECK(std::filesystem::exists(folder.path() / "ab/.partial-1-1"));
  }
  DiskCache alone(folder.path(), 1 << 20, nullptr);
  CHECK(usage_in(folder.path()) == 12288);
  CHECK_FALSE(std::filesystem::exists(folder.path() / "ab/.partial-1-1"));
}

TEST_CASE("threads that fill a small cache stay within its limit and read correct bytes") {
  testing::TemporaryFolder folder;
  constexpr std::uint64_t kLimit = 1 << 20;
  const auto cache = std::make_shared<DiskCache>(folder.path(), kLimit, nullptr);
  const std::vector<std::uint8_t> bytes = pattern(4 << 20);
  DiskCache::Object object(cache, "object");
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        std::vector<std::uint8_t> out(30'000);
        for (unsigned i = 0; i < 60; ++i) {
          const std::uint64_t at = (i * 37 + t * 11) % 130 * 30'000;
          for (const ReadRange& gap : object.read({at, out})) {
            std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(gap.offset), gap.out.size(), gap.out.begin());
            object.store(gap.offset, gap.out);
          }
          if (!std::equal(out.begin(), out.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at))) ++wrong;
        }
      });
    }
  }
  CHECK(wrong == 0);
  CHECK(usage_in(folder.path()) <= kLimit);
  std::uint64_t held = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (file.is_regular_file()) held += file.file_size();
  }
  CHECK(held <= kLimit);
  CHECK(held > kLimit / 2);
}

}  // namespace unstarve::remote
