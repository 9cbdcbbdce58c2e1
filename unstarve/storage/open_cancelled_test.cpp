// Opening a dataset can be cancelled without leaving files.
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>

#include "unstarve/core/cancel.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/storage/formats/tfrecord/tfrecord.h"
#include "unstarve/storage/index/record_files.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/memory_bytes.h"
#include "unstarve/storage/testing/tar_text.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using testing::MemoryBytes, testing::error_message, testing::TarText, testing::TemporaryFolder;
namespace fs = std::filesystem;

TEST_CASE("cancelling before opening returns no dataset and writes no index") {
  const TemporaryFolder folder;
  folder.write("photos/cat/1.jpg", "x");
  folder.write("photos/dog/1.jpg", "x");
  folder.write("train.tar", TarText().file("1.jpg", "image").file("1.cls", "1").end());
  std::stop_source stop;
  stop.request_stop();
  for (const char* const name : {"photos", "train.tar"}) {
    const CancelScope scope(stop.get_token());
    CHECK(error_message([&] { (void)open_dataset(folder.str(name)); }, ErrorKind::kCancelled) == "stopped");
  }
  CHECK_FALSE(fs::exists(folder.str("train.tar.unstarve-index")));
  CHECK(open_dataset(folder.str("photos"))->size() == 2);
  CHECK(open_dataset(folder.str("train.tar"))->size() == 1);
  CHECK(fs::exists(folder.str("train.tar.unstarve-index")));
}

// Requests cancelling at the first read.
class StoppingBytes final : public ByteSource {
 public:
  StoppingBytes(std::uint64_t size, std::stop_source& stop) : size_(size), stop_(stop) {}
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] SourceStamp stamp() const noexcept override { return {size_, 0}; }
  void read(std::uint64_t, std::span<std::uint8_t> out) const override {
    stop_.request_stop();
    read_ += out.size();
    std::fill(out.begin(), out.end(), std::uint8_t{0});
  }
  std::uint64_t bytes_read() const { return read_; }

 private:
  const std::string name_ = "zeros";
  const std::uint64_t size_;
  std::stop_source& stop_;
  mutable std::atomic<std::uint64_t> read_{0};
};

TEST_CASE("cancelling while a shard is indexed stops within one piece") {
  std::stop_source stop;
  const auto zeros = std::make_shared<StoppingBytes>(std::uint64_t{1} << 40, stop);
  const CancelScope scope(stop.get_token());
  CHECK(error_message(
            [&] {
              const RecordFiles files({{"zeros", zeros}}, make_tfrecord_format(), {.keep_index = false});
            },
            ErrorKind::kCancelled) == "stopped");
  CHECK(zeros->bytes_read() <= 2 * kForwardPieceBytes);
}

}  // namespace
}  // namespace unstarve
