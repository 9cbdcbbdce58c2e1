#include "unstarve/jobs/capacity/batch_feed.h"

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/device/device.h"
#include "unstarve/storage/open.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using Taken = BatchFeed::Taken;

class RawFolder {
 public:
  RawFolder() {
    std::string name = (fs::temp_directory_path() / "unstarve-raw-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    root_ = name;
  }
  ~RawFolder() { fs::remove_all(root_); }
  RawFolder(const RawFolder&) = delete;
  RawFolder& operator=(const RawFolder&) = delete;
  void add(const std::string& name, std::size_t bytes) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << std::string(bytes, 'x');
  }
  [[nodiscard]] std::string path() const { return root_.string(); }

 private:
  fs::path root_;
};

TEST_CASE("files are divided into whole samples, and small samples are read together") {
  const RawFolder folder;
  folder.add("a/volume.npz", 1'000'000);
  folder.add("b/small.npz", 100);
  folder.add("c/two.npz", 1'600'000);
  folder.add("empty", 0);
  const RawData large = list_raw_data(folder.path(), 1'000'000);
  CHECK(large.files.size() == 3);
  CHECK(large.samples == 1 + 1 + 2);  // 1.6 samples are rounded
  CHECK(large.bytes == 2'600'100);
  CHECK(large.blocks.size() == 4);
  const RawData small = list_raw_data(folder.path() + "/a", 1000);
  CHECK(small.samples == 1000);
  CHECK(small.blocks.size() == 4);  // 262 samples each
  // The blocks cover every byte once.
  std::set<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const auto& block : small.blocks) ranges.insert({block.offset, block.bytes});
  std::uint64_t end = 0;
  for (const auto& [offset, bytes] : ranges) {
    CHECK(offset == end);
    end += bytes;
  }
  CHECK(end == small.bytes);
  CHECK(list_raw_data(folder.path() + "/a/volume.npz", 500'000).samples == 2);
}

TEST_CASE("raw data that cannot be read") {
  const RawFolder folder;
  folder.add("empty", 0);
  CHECK_THAT(testing::error_message([&] { (void)list_raw_data(folder.path(), 10); }, ErrorKind::kInput),
             Catch::Contains("no bytes"));
  CHECK_THAT(testing::error_message([&] { (void)list_raw_data("s3://bucket/data", 10); }, ErrorKind::kArgument),
             Catch::Contains("URL"));
  CHECK_THAT(testing::error_message([&] { (void)list_raw_data("/no/such/folder", 10); }, ErrorKind::kIo),
             Catch::Contains("/no/such/folder"));
}

TEST_CASE("raw samples are delivered endlessly, and no more than the prefetch is read in advance") {
  const RawFolder folder;
  for (int i = 0; i < 8; ++i) folder.add(std::to_string(i), 1 << 20);
  const RawData data = list_raw_data(folder.path(), 1 << 20);
  RawFeed feed(data, 4, 2, 3);
  for (int i = 0; i < 10; ++i) CHECK(feed.take() != Taken::kClosed);  // five epochs
  while (feed.bytes_read() < 48u << 20) std::this_thread::yield();    // 10 batches and the prefetch
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(feed.bytes_read() == 48u << 20);
  CHECK(feed.next_block() == 0);
  CHECK(feed.take() == Taken::kReady);
}

TEST_CASE("a file that disappears is an error of the consumer") {
  const RawFolder folder;
  folder.add("one", 1 << 20);
  const RawData data = list_raw_data(folder.path(), 1 << 20);
  fs::remove(folder.path() + "/one");
  RawFeed feed(data, 1, 1, 2);
  CHECK_THAT(testing::error_message([&] { (void)feed.take(); }, ErrorKind::kIo), Catch::Contains("/one"));
}

TEST_CASE("close() wakes the consumers of raw samples") {
  const RawFolder folder;
  folder.add("one", 100);
  const RawData data = list_raw_data(folder.path(), 100);
  RawFeed feed(data, 1, 1, 0);  // no thread reads
  std::jthread closer([&] { feed.close(); });
  CHECK(feed.take() == Taken::kClosed);
}

TEST_CASE("batches of a loader are taken by several consumers") {
  // One record takes 1 ms, by one thread.
  const auto dataset = open_dataset("sleep:ms=1,images=64,size=8");
  const auto device = open_device("cpu");
  PipelineSpec spec;
  spec.batch.size = 8;
  spec.execution.threads = 1;
  LoaderFeed feed(spec, dataset, *device, 2);
  CHECK(feed.take() == Taken::kWaited);  // nothing is ready at the start
  std::atomic<int> taken{0};
  {
    std::vector<std::jthread> consumers;
    for (int i = 0; i < 4; ++i) {
      consumers.emplace_back([&] {
        for (int k = 0; k < 5; ++k) taken += feed.take() != Taken::kClosed;
      });
    }
  }
  CHECK(taken == 20);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  CHECK(feed.take() == Taken::kReady);
  feed.close();
  CHECK(feed.take() == Taken::kClosed);
}

}  // namespace
}  // namespace unstarve
