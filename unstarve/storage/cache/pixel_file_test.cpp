#include "unstarve/storage/cache/pixel_file.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kSamples = 200, kLimit = 2 * PixelFile::kPage;

}  // namespace

TEST_CASE("entries and pixels remain in the file, without those that were being written", "[storage]") {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "deep" / "pixels";
  const std::vector<std::uint8_t> bytes{1, 2, 3};
  {
    const PixelFile file(path, "key", kSamples, kLimit);
    CHECK(file.complete_at_open() == 0);
    CHECK(file.used() == 0);
    CHECK(file.write(64, bytes) == 0);
    CHECK(file.hand_out(128) == 0);
    file.entry(3).location = PixelEntry::kFirst + 64;
    file.entry(kSamples - 1).location = PixelEntry::kBeingWritten;
    const PixelFile shared(path, "key", kSamples, kLimit);  // not alone: changes nothing
    CHECK(shared.complete_at_open() == 0);
    CHECK(shared.entry(kSamples - 1).location == PixelEntry::kBeingWritten);
  }
  CHECK(std::filesystem::file_size(path) == PixelFile::kPage + 2 * PixelFile::kPage + kLimit);
  const PixelFile file(path, "key", kSamples, kLimit);
  CHECK(file.complete_at_open() == 1);
  CHECK(file.used() == 128);
  CHECK(file.entry(3).location == PixelEntry::kFirst + 64);
  CHECK(file.entry(kSamples - 1).location == PixelEntry::kAbsent);
  CHECK(std::equal(bytes.begin(), bytes.end(), file.pixels() + 64));
}

TEST_CASE("a file of another key, size or limit is recreated, or an error while it is in use", "[storage]") {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "pixels";
  std::optional<PixelFile> file(std::in_place, path, "key", kSamples, kLimit);
  file->entry(0).location = PixelEntry::kFirst;
  CHECK_THROWS_WITH(PixelFile(path, "other", kSamples, kLimit), Catch::Contains("another process uses it"));
  file.reset();
  CHECK(PixelFile(path, "other", kSamples, kLimit).complete_at_open() == 0);
  CHECK(PixelFile(path, "key", kSamples, kLimit).complete_at_open() == 0);
  PixelFile(path, "key", kSamples, kLimit).entry(0).location = PixelEntry::kFirst;
  CHECK(PixelFile(path, "key", kSamples + 1, kLimit).complete_at_open() == 0);
  PixelFile(path, "key", kSamples, kLimit).entry(0).location = PixelEntry::kFirst;
  CHECK(PixelFile(path, "key", kSamples, 2 * kLimit).complete_at_open() == 0);
}

TEST_CASE("a file without a path is in memory", "[storage]") {
  const PixelFile one({}, "key", kSamples, kLimit), other({}, "key", kSamples, kLimit);
  one.entry(0).location = PixelEntry::kFirst;
  CHECK(other.entry(0).location == PixelEntry::kAbsent);
}

TEST_CASE("no byte is handed out twice, also when little room is left", "[storage]") {
  constexpr int kThreads = 4, kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    const PixelFile file({}, "key", kSamples, kLimit);
    std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> ranges(kThreads);
    {
      std::vector<std::jthread> threads;
      for (std::size_t t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
          for (std::uint64_t bytes = 64 * (t + 1) * 5; bytes > 0; bytes -= 64)
            for (int i = 0; i < 4; ++i)
              if (const auto offset = file.hand_out(bytes)) ranges[t].emplace_back(*offset, bytes);
        });
    }
    std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
    for (const auto& some : ranges) all.insert(all.end(), some.begin(), some.end());
    std::ranges::sort(all);
    std::uint64_t end = 0;
    for (const auto& [offset, bytes] : all) {
      REQUIRE(offset == end);
      end = offset + bytes;
    }
    REQUIRE(end == file.used());
    REQUIRE(end <= file.limit());
  }
}

}  // namespace unstarve
