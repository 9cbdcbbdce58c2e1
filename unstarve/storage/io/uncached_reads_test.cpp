#include "unstarve/storage/io/uncached_reads.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/random.h"
#include "unstarve/storage/bytes/file_descriptor.h"
#include "unstarve/storage/formats/tfrecord/tfrecord.h"
#include "unstarve/storage/index/record_index.h"
#include "unstarve/storage/source/open_bytes.h"
#include "unstarve/storage/testing/byte_text.h"
#include "unstarve/storage/testing/temporary_folder.h"
#include "unstarve/storage/testing/tfrecord_bytes.h"

namespace unstarve {
namespace {

// Writes the file and drops it from the page cache if the file system supports it.
std::string cold_file(const testing::TemporaryFolder& folder, const std::string& name, const std::string& text) {
  folder.write(name, text);
  const FileDescriptor file(::open(folder.str(name).c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::fsync(file.get()) == 0);
  (void)::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  return folder.str(name);
}

// Uses mincore(2), which reads nothing; in_page_cache() triggers kernel readahead.
bool is_cached(const std::string& path, std::uint64_t offset) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  void* const map = ::mmap(nullptr, page, PROT_READ, MAP_SHARED, file.get(), static_cast<off_t>(offset / page * page));
  REQUIRE(map != MAP_FAILED);
  unsigned char resident = 0;
  REQUIRE(::mincore(map, page, &resident) == 0);
  ::munmap(map, page);
  return (resident & 1) != 0;
}

std::string synthetic_text(std::size_t bytes) {
  Random random(5, 0, 0, 0);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random.bits());
  return text;
}

}  // namespace

TEST_CASE("passes may read a limited number of bytes into the page cache", "[storage]") {
  PageCacheBudget room(100);
  CHECK(room.take(60));
  CHECK_FALSE(room.take(41));
  CHECK(room.take(40));
  CHECK_FALSE(room.take(1));
  CHECK(room.take(0));
  CHECK(PageCacheBudget::of_process().take(1));
}

TEST_CASE("a file that exceeds the budget bypasses the page cache", "[storage]") {
  const testing::TemporaryFolder folder;
  const std::string text = synthetic_text(1'000'003);
  const std::string path = cold_file(folder, "file", text);
  PageCacheBudget none(0), enough(2'000'000);
  const auto mapped = open_bytes(path);
  CHECK(open_uncached(*mapped, enough) == nullptr);
  constexpr std::uint64_t kFar = 900'000;  // away from the offset that open_uncached() tests
  if (is_cached(path, text.size() / 2) || is_cached(path, kFar)) {
    WARN("SKIPPED, nothing is read past the page cache: this file system keeps its files there");
    return;
  }
  const auto direct = open_uncached(*mapped, none);
  if (direct == nullptr) {
    WARN("SKIPPED, nothing is read past the page cache: this file system has no such reads");
    return;
  }
  CHECK(direct->size() == text.size());
  CHECK(direct->stamp() == mapped->stamp());
  CHECK(direct->mapped().empty());
  Random random(6, 0, 0, 0);
  for (int i = 0; i < 50; ++i) {
    const std::size_t offset = i == 0 ? text.size() - 1 : random.below(static_cast<std::uint32_t>(text.size()));
    std::string out(std::min<std::size_t>(random.below(100'000), text.size() - offset), '\0');
    direct->read(offset, {reinterpret_cast<std::uint8_t*>(out.data()), out.size()});
    CHECK((out == text.substr(offset, out.size())));
  }
  std::uint8_t byte = 0;
  CHECK_THROWS_AS(direct->read(text.size(), {&byte, 1}), Error);
  CHECK_FALSE(is_cached(path, kFar));

  std::string all(text.size(), '\0');
  REQUIRE(::truncate(path.c_str(), 500'000) == 0);
  CHECK_THROWS_WITH(direct->read(0, {reinterpret_cast<std::uint8_t*>(all.data()), all.size()}),
                    Catch::Contains("it ended at 500000 of 1000003 bytes"));
  CHECK(open_uncached(*mapped, none) == nullptr);  // replaced meanwhile
}

TEST_CASE("an index built without the page cache equals one built with it", "[storage]") {
  const testing::TemporaryFolder folder;
  std::string records;
  for (int i = 0; i < 300; ++i)
    records += testing::tfrecord(
        testing::example(testing::bytes_feature("image", synthetic_text(static_cast<std::size_t>(100 + 7 * i)))));
  const auto format = make_tfrecord_format();
  for (const std::string& stored : {records, testing::deflated(records, 31)}) {
    const std::string path = cold_file(folder, "file", stored);
    const bool cold = !is_cached(path, stored.size() / 2);
    const auto shard = open_bytes(path);
    PageCacheBudget none(0), enough(std::uint64_t{1} << 40);
    const std::string past = build_index(*shard, *format, none);
    CHECK((past == build_index(*shard, *format, enough)));
    if (!cold) WARN("SKIPPED, both passes went through the page cache");
  }
}

}  // namespace unstarve
