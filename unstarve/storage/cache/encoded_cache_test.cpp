#include "unstarve/storage/cache/encoded_cache.h"

#include <catch2/catch.hpp>
#include <thread>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/core/error.h"
#include "unstarve/storage/formats/folder/image_folder.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/conformance.h"
#include "unstarve/storage/testing/temporary_folder.h"

#include <fstream>

namespace unstarve {
namespace {

// Writes `samples` images of two classes and opens them through a cache of `limit` bytes.
std::shared_ptr<const EncodedCache> cached_folder(const testing::TemporaryFolder& folder, std::uint64_t samples,
                                                  std::uint64_t limit) {
  const auto root = folder.path() / ("set-" + std::to_string(samples));
  for (const char* name : {"a", "b"}) std::filesystem::create_directories(root / name);
  for (std::uint64_t i = 0; i < samples; ++i) {
    Image image({16, 16});
    for (std::size_t k = 0; k < image.bytes(); ++k) image.data()[k] = static_cast<std::uint8_t>(k * (i + 1));
    const auto bytes = encode_jpeg(image.view(), 90, ChromaSampling::k444);
    std::ofstream file(root / (i % 2 == 0 ? "a" : "b") / (std::to_string(1000 + i) + ".jpg"), std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  return cache_encoded(std::make_shared<ImageFolder>(root.string()), limit);
}

}  // namespace

TEST_CASE("a cached dataset passes the conformance suite with room for all, some and no records", "[storage]") {
  for (const std::uint64_t limit : {1'000'000, 5'000, 10}) {
    const testing::TemporaryFolder folder;
    testing::DatasetUnderTest test;
    test.make = [&](std::uint64_t samples) { return cached_folder(folder, samples, limit); };
    testing::check_dataset(test);
  }
}

TEST_CASE("the encoded cache serves records from memory within its budget", "[storage]") {
  const testing::TemporaryFolder folder;
  const auto all = cached_folder(folder, 20, 1'000'000);
  const auto expected = testing::read_all(*all);
  CHECK(all->counts().records == 20);
  std::filesystem::remove_all(folder.path());
  CHECK(testing::read_all(*all) == expected);  // only the cache is left

  const auto some = cached_folder(folder, 20, 5'000);
  (void)testing::read_all(*some);
  CHECK(some->counts().records > 2);
  CHECK(some->counts().records < 20);
  CHECK(some->counts().bytes <= 5'000);
  const std::uint64_t cached = some->counts().records;
  std::filesystem::remove_all(folder.path());
  std::uint64_t readable = 0;
  RecordBuffer record;
  for (std::uint64_t id = 0; id < some->size(); ++id) {
    try {
      some->read(id, record);
      ++readable;
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kInput);
    }
  }
  CHECK(readable == cached);
}

TEST_CASE("raw pixels are not cached as encoded records", "[storage]") {
  CHECK_THROWS_AS(cache_encoded(open_dataset("sleep:ms=0,images=3,size=8"), 1000), Error);
}

}  // namespace unstarve
