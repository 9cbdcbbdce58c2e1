// Files written by the formats' own libraries, and compressed ones, truncated at every byte. Formats with their own
// damage handling (TFRecord, tar, RecordIO, MDS, Parquet) have further tests.
#include <catch2/catch.hpp>
#include <filesystem>

#include "unstarve/storage/formats/cifar/cifar.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/conformance.h"
#include "unstarve/storage/testing/fixtures_folder.h"
#include "unstarve/storage/testing/tar_text.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;
using testing::check_truncated_anywhere;
using testing::TemporaryFolder;

// A copy of the fixture `name`, a file or folder.
fs::path copy_of(const TemporaryFolder& folder, const std::string& name) {
  const fs::path to = folder.path() / fs::path(name).filename();
  fs::copy(testing::fixture(name), to, fs::copy_options::recursive);
  return to;
}

}  // namespace

TEST_CASE("arrays truncated at any byte are rejected or keep their records") {
  const TemporaryFolder folder;
  for (const char* const name : {"npy", "idx"}) {
    const fs::path set = copy_of(folder, name);
    for (const fs::directory_entry& file : fs::directory_iterator(set))
      check_truncated_anywhere(file.path(), [&] { return open_dataset(set.string()); });
  }
}

TEST_CASE("CIFAR files truncated at any byte are rejected or keep their records") {
  const TemporaryFolder folder;
  std::string bytes;
  for (int record = 0; record < 2; ++record)
    bytes += static_cast<char>(record + 3) + std::string(3072, static_cast<char>(record * 9));
  folder.write("data_batch_1.bin", bytes);
  folder.write("test_batch.bin", bytes);
  check_truncated_anywhere(folder.path() / "data_batch_1.bin",
                           [&] { return open_dataset(folder.str("data_batch_1.bin")); });
  check_truncated_anywhere(folder.path() / "test_batch.bin", [&] { return open_dataset(folder.str()); });
}

TEST_CASE("compressed shards truncated at any byte are rejected or keep their records") {
  const TemporaryFolder folder;
  for (const char* const name : {"webdataset/cls.tar.gz", "webdataset/cls.tar.zst", "webdataset/frames.tar.zst"}) {
    const fs::path shard = copy_of(folder, name);
    check_truncated_anywhere(shard, [&] { return open_dataset(shard.string()); });
  }
  for (const char* const name : {"mds-gz/shard.00001.mds.gz", "mds-zstd/shard.00001.mds.zstd"}) {
    const fs::path mds = copy_of(folder, fs::path(name).parent_path().string());
    check_truncated_anywhere(folder.path() / name, [&] { return open_dataset(mds.string()); });
  }
}

TEST_CASE("a tar shard truncated at any byte is rejected or keeps its records") {
  const TemporaryFolder folder;
  const auto first = testing::TarText().file("0.jpg", "a").file("0.cls", "0");
  folder.write("small.tar", testing::TarText(first).file("1.jpg", "b").file("1.cls", "1").end());
  constexpr std::size_t kWithoutLabel = 1024;  // a member of one byte
  const auto open = [&] { return open_dataset(folder.str("small.tar")); };
  check_truncated_anywhere(folder.path() / "small.tar", open, kWithoutLabel + 1);
}

}  // namespace unstarve
