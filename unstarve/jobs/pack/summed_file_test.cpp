#include "unstarve/jobs/pack/summed_file.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/bytes/forward_bytes.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using testing::TemporaryFolder;

std::vector<std::uint8_t> some_bytes(std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
  return bytes;
}

std::vector<std::uint8_t> read(const SummedFile& file, std::uint64_t offset, std::size_t length) {
  std::vector<std::uint8_t> out(length);
  file.read(offset, out);
  return out;
}

TEST_CASE("the checksum does not depend on earlier reads") {
  TemporaryFolder folder;
  const std::size_t size = GENERATE(0, 1, 4096, 3'000'000);
  const std::vector<std::uint8_t> bytes = some_bytes(size);
  folder.write("file", bytes);
  CHECK(SummedFile(folder.str("file")).sum() == crc32c(bytes));
  const SummedFile file(folder.str("file"));
  // A gap, a range, an overlapping range, the same range again, a range at the start.
  for (const auto& [offset, length] :
       std::vector<std::pair<std::size_t, std::size_t>>{{10, 20}, {25, 40}, {25, 40}, {0, 5}, {1'500'000, 1'000'000}}) {
    if (offset + length > size) continue;
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
    CHECK(read(file, offset, length) == std::vector(begin, begin + static_cast<std::ptrdiff_t>(length)));
  }
  CHECK(file.sum() == crc32c(bytes));
  CHECK(file.sum() == crc32c(bytes));
}

TEST_CASE("skipped bytes are included in the checksum") {
  TemporaryFolder folder;
  const std::vector<std::uint8_t> bytes = some_bytes(20'000'000);
  folder.write("file", bytes);
  const SummedFile file(folder.str("file"));
  const auto forward = read_forward(file);
  for (const std::uint64_t offset : {0, 100, 9'000'000, 19'000'000}) {
    const auto got = forward->at(offset, 1000);
    CHECK(std::equal(got.begin(), got.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset)));
  }
  CHECK(file.sum() == crc32c(bytes));
}

TEST_CASE("a file truncated while reading is an error with its offset") {
  TemporaryFolder folder;
  folder.write("file", some_bytes(5'000'000));
  const SummedFile file(folder.str("file"));
  std::filesystem::resize_file(folder.path() / "file", 1'000'000);
  CHECK_THROWS_WITH(file.sum(), Catch::Contains(folder.str("file")) &&
                                    Catch::Contains("ended at byte 1000000 of 5000000 while reading"));
}

}  // namespace
}  // namespace unstarve
