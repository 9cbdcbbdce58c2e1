#include "unstarve/storage/dataset/all_fields.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "unstarve/core/refusal.h"
#include "unstarve/storage/dataset/concatenated.h"
#include "unstarve/storage/open.h"
#include "unstarve/storage/testing/conformance.h"
#include "unstarve/storage/testing/tar_text.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using testing::copy_of, testing::refusal, testing::TarText, testing::TemporaryFolder;

// A shard whose samples have a label before and a caption after their images. The last caption is larger than one read.
std::string captioned(const TemporaryFolder& folder, const std::string& name, std::uint64_t samples) {
  TarText tar;
  for (std::uint64_t i = 0; i < samples; ++i) {
    const std::string key = "s/" + std::to_string(i);
    tar.file(key + ".cls", std::to_string(i % 3));
    tar.file(key + ".jpg", name + " image " + std::to_string(i));
    tar.file(key + ".json", std::string(i + 1 == samples ? 3'000'000 : 700, ' ') + "{}");
  }
  folder.write(name, tar.end());
  return folder.str(name);
}

// Bytes of the images and their headers.
std::uint64_t used_bytes(const Dataset& data) {
  std::uint64_t bytes = 0;
  RecordBuffer record;
  for (std::uint64_t id = 0; id < data.size(); ++id) {
    data.read(id, record);
    bytes += 512 + record.values[0].bytes.size();
  }
  return bytes;
}

// Reads every record of both datasets and compares them.
void check_equal(const Dataset& data, const Dataset& all) {
  RecordBuffer one, other;
  for (std::uint64_t id = 0; id < data.size(); ++id) {
    data.read(id, one);
    all.read(id, other);
    CHECK(copy_of(data, one) == copy_of(all, other));
  }
}

TEST_CASE("all members of a shard are read, each byte once, and records are unchanged") {
  const TemporaryFolder folder;
  const std::string file = captioned(folder, "a.tar", 20);
  const auto data = open_dataset(file);
  const auto all = with_all_fields(data);
  CHECK(all->dropped_bytes() == 0);
  check_equal(*data, *all);
  CHECK(all->dropped_bytes() == std::filesystem::file_size(file) - used_bytes(*data));
}

TEST_CASE("every concatenated source is read completely") {
  const TemporaryFolder folder;
  const std::string first = captioned(folder, "a.tar", 5), second = captioned(folder, "b.tar", 7);
  const auto data = concatenate({open_dataset(first), open_dataset(second)}, {"a", "b"});
  const auto all = with_all_fields(data);
  check_equal(*data, *all);
  CHECK(all->dropped_bytes() ==
        std::filesystem::file_size(first) + std::filesystem::file_size(second) - used_bytes(*data));
}

TEST_CASE("nothing more is read if a record is only its image") {
  const auto data = open_dataset("synthetic:classes=3,images=20,size=16,seed=1");
  const auto all = with_all_fields(data);
  check_equal(*data, *all);
  CHECK(all->dropped_bytes() == 0);
}

TEST_CASE("a damaged record fails as without all fields, and its neighbours are readable") {
  const TemporaryFolder folder;
  const std::string file = captioned(folder, "a.tar", 5);
  const auto data = open_dataset(file);
  {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(data->record_location(2).offset.value() + 20));
    stream.put('!');
    REQUIRE(stream.flush());
  }
  const auto all = with_all_fields(data);
  RecordBuffer record;
  CHECK(refusal([&] { all->read(2, record); }) == refusal([&] { data->read(2, record); }));
  CHECK_NOTHROW(all->read(1, record));
  CHECK_NOTHROW(all->read(3, record));
}

TEST_CASE("a dataset read with all fields passes the conformance suite") {
  const TemporaryFolder folder;
  testing::check_dataset({[&](std::uint64_t samples) {
                            const std::string name = std::to_string(samples) + ".tar";
                            std::filesystem::remove(folder.str(name));  // not truncated: it may still be mapped
                            return with_all_fields(open_dataset(captioned(folder, name, samples)));
                          },
                          {}});
}

}  // namespace
}  // namespace unstarve
