#include "unstarve/storage/cache/pixel_store.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/random.h"
#include "unstarve/core/testing/file_size_limit.h"
#include "unstarve/storage/dataset/notice.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

Image image_of(std::uint64_t id) {
  Random random(5, 0, id, 0);
  Image image({1 + static_cast<int>(random.below(40)), 1 + static_cast<int>(random.below(40))});
  for (std::size_t i = 0; i < image.bytes(); ++i) image.data()[i] = static_cast<std::uint8_t>(random.bits());
  return image;
}

bool holds(const PixelStore& store, std::uint64_t id) {
  const auto found = store.find(id);
  if (!found) return false;
  const Image expected = image_of(id);
  REQUIRE(found->label == static_cast<std::int64_t>(id) * 3 - 1);
  REQUIRE(found->pixels.size() == expected.size());
  REQUIRE(std::equal(expected.data(), expected.data() + expected.bytes(), found->pixels.data));
  return true;
}

void keep(const PixelStore& store, std::uint64_t id) {
  store.put(id, static_cast<std::int64_t>(id) * 3 - 1, image_of(id).view());
}

int count(const PixelStore& store, std::uint64_t samples) {
  int found = 0;
  for (std::uint64_t id = 0; id < samples; ++id) found += holds(store, id) ? 1 : 0;
  return found;
}

}  // namespace

TEST_CASE("pixels are read as stored, from memory and from a reopened file", "[storage]") {
  const testing::TemporaryFolder folder;
  const auto memory = open_pixel_store({}, "key", 50, 1 << 20);
  for (std::uint64_t id = 0; id < 50; id += 2) keep(*memory, id);
  CHECK(count(*memory, 50) == 25);

  const auto path = folder.path() / "deep" / "pixels";
  {
    const auto file = open_pixel_store(path, "key", 50, 1 << 20);
    for (std::uint64_t id = 0; id < 50; id += 2) keep(*file, id);
    CHECK(count(*file, 50) == 25);
  }
  const auto again = open_pixel_store(path, "key", 50, 1 << 20);
  CHECK(count(*again, 50) == 25);
  CHECK(again->counts().records == 25);
}

TEST_CASE("another key, size or limit recreates the file, unless another process uses it", "[storage]") {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "pixels";
  {
    const auto store = open_pixel_store(path, "key", 10, 1 << 20);
    keep(*store, 3);
    CHECK_THROWS_AS(open_pixel_store(path, "other", 10, 1 << 20), Error);
    CHECK(holds(*open_pixel_store(path, "key", 10, 1 << 20), 3));
  }
  CHECK(count(*open_pixel_store(path, "other", 10, 1 << 20), 10) == 0);
  CHECK(count(*open_pixel_store(path, "key", 10, 1 << 20), 10) == 0);
}

TEST_CASE("the store respects its limit and reports that it is full", "[storage]") {
  const auto store = open_pixel_store({}, "key", 1000, 64 * 1024);
  CHECK(store->note().empty());
  for (std::uint64_t id = 0; id < 1000; ++id) keep(*store, id);
  CHECK(store->counts().bytes <= 64 * 1024);
  const int found = count(*store, 1000);
  CHECK(found > 10);
  CHECK(found < 1000);
  CHECK(store->note().find("cache in memory is full: its limit is 65536 bytes") != std::string::npos);
  CHECK_THROWS_AS(open_pixel_store({}, "key", 10, 0), Error);
}

TEST_CASE("a store that cannot be written emits one notice, whose sink may call note()", "[storage]") {
  const testing::TemporaryFolder folder;
  const auto store = open_pixel_store(folder.path() / "pixels", "key", 10, 1 << 20);
  std::vector<std::string> notices;
  set_notice_sink([&](const std::string& text) {
    notices.push_back(text);
    CHECK(store->note() == text);
  });
  {
    const testing::FileSizeLimit limit(4096);
    for (std::uint64_t id = 0; id < 3; ++id) keep(*store, id);
  }
  set_notice_sink({});
  REQUIRE(notices.size() == 1);
  CHECK_THAT(notices[0], Catch::EndsWith("pixels stores no more images: writing failed after " +
                                         std::to_string(store->counts().bytes) + " bytes of pixels: File too large"));
  CHECK(count(*store, 10) == 0);
}

TEST_CASE("a limit above the largest file is an error; without room for entries the store stays empty", "[storage]") {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "pixels";
  {
    const testing::FileSizeLimit limit(1 << 16);
    CHECK_THROWS_WITH(open_pixel_store(path, "key", 10, 1 << 20),
                      "create cache " + path.string() +
                          ": its limit of 1048576 bytes requires a larger file than the system accepts (File too "
                          "large); expected a smaller limit. Reduce cache.limit_mb.");
    CHECK(std::filesystem::file_size(path) == 0);
    CHECK_THAT(open_pixel_store(path, "key", 10'000, 1 << 20)->note(),
               Catch::Contains("pixels stores no images: its entries need 327680 bytes"));
  }
  CHECK(open_pixel_store(path, "key", 10, 1 << 20)->note().empty());
}

TEST_CASE("damaged pixels and wrong entries are dropped, not returned", "[storage]") {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "pixels";
  {
    const auto store = open_pixel_store(path, "key", 40, 1 << 20);
    for (std::uint64_t id = 0; id < 40; ++id) keep(*store, id);
  }
  for (std::uint32_t round = 0; round < 300; ++round) {
    Random random(6, 0, round, 0);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    // Entries (40 x 32 bytes) and the first pixels.
    file.seekp(4096 + static_cast<std::streamoff>(random.below(40 * 32)));
    file.put(static_cast<char>(random.bits()));
    file.seekp(8192 + static_cast<std::streamoff>(random.below(8192)));
    file.put(static_cast<char>(random.bits()));
    file.close();
    const auto store = open_pixel_store(path, "key", 40, 1 << 20);
    for (std::uint64_t id = 0; id < 40; ++id) {
      if (const auto found = store->find(id)) {
        const Image expected = image_of(id);
        REQUIRE(std::equal(expected.data(), expected.data() + expected.bytes(), found->pixels.data));
      }
    }
  }
}

TEST_CASE("processes share a file, and a killed process loses only its last sample", "[storage]") {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "pixels";
  constexpr std::uint64_t kSamples = 4000;
  std::uint64_t before = 0;
  for (int round = 0; round < 12; ++round) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const auto store = open_pixel_store(path, "key", kSamples, 32 << 20);
      for (std::uint64_t id = static_cast<std::uint64_t>(round) * 7; id < kSamples; ++id) keep(*store, id);
      ::pause();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2 + 5 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto store = open_pixel_store(path, "key", kSamples, 32 << 20);
    std::uint64_t found = 0;
    for (std::uint64_t id = 0; id < kSamples; ++id) found += holds(*store, id) ? 1 : 0;
    CHECK(found >= before);
    before = found;
  }
  CHECK(before > 0);
  const auto store = open_pixel_store(path, "key", kSamples, 32 << 20);
  for (std::uint64_t id = 0; id < kSamples; ++id) keep(*store, id);
  CHECK(count(*store, kSamples) == static_cast<int>(kSamples));
}

TEST_CASE("threads store and find concurrently", "[storage]") {
  const auto store = open_pixel_store({}, "key", 500, 8 << 20);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&store] {
      for (std::uint64_t id = 0; id < 500; ++id) {
        if (!store->find(id)) keep(*store, id);
      }
    });
  }
  threads.clear();
  CHECK(count(*store, 500) == 500);
}

}  // namespace unstarve
